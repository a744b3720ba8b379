package relay

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// drainTries is how often it is looked whether a client has taken what it was sent, and
	// drainEvery at which intervals, before it is told that no more will come.
	drainTries = 300
	drainEvery = 10 * time.Millisecond
)

// cut closes both connections. Whoever was not sent all that the other one had to say, its end
// included, is reset: an end would say that it was all.
func (l *loop) cut(p *Pair) {
	if p.closed {
		return
	}
	p.closed = true
	for _, e := range []*end{&p.client, &p.app} {
		l.forget(e)
		e.drop()
		delete(l.ends, e.id)
	}
	if !p.client.whole() {
		p.app.reset()
	}
	p.app.close()
	switch {
	case p.app.whole():
	case p.client.taken():
		p.client.reset()
	case !l.closed:
		p.draining = true
		go l.drain(p)
		return
	}
	p.client.close()
	l.settle(p)
}

// drain resets a client when it has taken what it was sent: a reset takes back what is still on
// its way. One that takes too long has an end after it. It lives for three seconds at most.
func (l *loop) drain(p *Pair) {
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for try := 1; p.draining; try++ { // nobody else changes that
		<-tick.C
		l.visit(func() {
			taken := p.client.taken()
			if !taken && !l.closed && try < drainTries {
				return
			}
			if taken {
				p.client.reset()
			}
			p.client.close()
			p.draining = false
			l.settle(p)
		})
	}
}

// settle has Over called where nothing of a pair that was cut is left.
func (l *loop) settle(p *Pair) {
	if !p.waking && !p.draining {
		l.over = append(l.over, p)
	}
}

// whole reports whether the peer was sent all that ever arrived here, and that this was all.
func (e *end) whole() bool { return e.ended && !e.failed }

// taken reports whether nothing that was sent over e is on its way, or nothing of it will ever
// be taken.
func (e *end) taken() bool {
	n, err := unix.IoctlGetInt(e.fd, unix.SIOCOUTQ)
	if err != nil || n == 0 {
		return true
	}
	gone := []unix.PollFd{{Fd: int32(e.fd)}}
	n, err = unix.Poll(gone, 0)
	return err == nil && n > 0
}

// reset has close end the connection by a reset.
func (e *end) reset() {
	// A connection that can't be told how to end has ended.
	_ = unix.SetsockoptLinger(e.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

func (e *end) close() { _ = unix.Close(e.fd) } // ours alone; what could not be sent is nobody's
