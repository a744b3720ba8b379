package relay

import (
	"sync"

	"golang.org/x/sys/unix"
)

// chunk is up to how much it costs less to copy what has arrived than to lead it through a pipe.
type chunk [16 << 10]byte

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// pass passes on what has arrived at e: a little by way of this process's memory, more of it
// by splice(2). Where it all goes on, nothing is held.
func (l *loop) pass(e *end) error {
	if e.bulk {
		return l.splice(e)
	}
	n, err := receive(e.fd, l.chunk[:], 0)
	switch {
	case err != nil || n < 0:
		return err
	case n == 0:
		return e.finish()
	}
	sent, err := e.peer.write(l.chunk[:n])
	switch {
	case err != nil:
		return e.refused(err)
	case sent < n:
		e.chunk, e.held = l.chunk, l.chunk[sent:n]
		l.chunk = chunks.Get().(*chunk)
	case n == len(l.chunk):
		return l.splice(e)
	}
	return nil
}

// splice passes on what has arrived by now, as much of it as a pipe holds.
func (l *loop) splice(e *end) error {
	e.bulk = false
	p, err := l.emptyPipe()
	if err != nil {
		return nil // there are no descriptors left: it is copied, at the next event
	}
	n, err := again(func() (int, error) {
		n, err := unix.Splice(e.fd, nil, p.write, nil, pipeSize, unix.SPLICE_F_NONBLOCK)
		return int(n), err
	})
	if n <= 0 || err != nil {
		l.keep(p)
	}
	switch {
	case err == unix.EINVAL: // a kernel, or a kind of connection, without it: as above
		return nil
	case err != nil || n < 0:
		return err
	case n == 0:
		return e.finish()
	}
	p.holds, e.pipe, e.bulk = n, p, n >= len(l.chunk)
	return l.flush(e)
}

// flush sends to e's peer what is held of e's, as far as there is room.
func (l *loop) flush(e *end) error {
	if len(e.held) > 0 {
		n, err := e.peer.write(e.held)
		if err != nil {
			return e.refused(err)
		}
		if e.held = e.held[n:]; len(e.held) > 0 {
			return nil
		}
		e.drop()
	}
	for e.pipe != nil {
		n, err := again(func() (int, error) {
			n, err := unix.Splice(e.pipe.read, nil, e.peer.fd, nil, e.pipe.holds, unix.SPLICE_F_NONBLOCK)
			return int(n), err
		})
		if err != nil || n < 0 {
			return e.refused(err)
		}
		if e.pipe.holds -= n; e.pipe.holds == 0 {
			l.keep(e.pipe)
			e.pipe = nil
		}
	}
	return nil
}

// finish passes on the end of what arrives at e.
func (e *end) finish() error {
	if e.failed { // the kernel tells of a reset once, and of an end from then on
		return unix.ECONNRESET
	}
	e.ended = true
	return e.refused(unix.Shutdown(e.peer.fd, unix.SHUT_WR))
}

// refused takes what came of passing something on. A peer that has gone takes nothing more, but
// what it has sent before may still be there: an answer that came before the request was read
// to its end. That goes on, until its own end is found. EPIPE is of one whose end came before.
func (e *end) refused(err error) error {
	switch err {
	case unix.ECONNRESET, unix.ETIMEDOUT:
		e.peer.failed = !e.peer.ended
		fallthrough
	case unix.EPIPE, unix.ENOTCONN:
		e.ended = true
		e.drop()
		return nil
	}
	return err
}
