package relay

import (
	"golang.org/x/sys/unix"
)

// end is one connection of a pair, with what has arrived there and waits for room at the peer.
type end struct {
	pair *Pair
	peer *end
	fd   int
	id   int32 // in the loop's events

	wants   uint32 // what the kernel was last asked to tell of
	watched bool
	ended   bool // nothing more that arrives here is passed on
	failed  bool // the connection was reset: what arrived before need not be all

	held  []byte
	chunk *chunk // that held is in; nil: it is in none
	pipe  *pipe  // nil: none is held
	bulk  bool   // much has arrived of late
}

// holds reports whether something of e's waits for room at the peer.
func (e *end) holds() bool { return len(e.held) > 0 || e.pipe != nil }

// reads reports whether what arrives at e is wanted now.
func (e *end) reads() bool { return !e.ended && !e.holds() && !e.waits() }

// sends reports whether what is held of e's may go to the peer as soon as there is room.
func (e *end) sends() bool { return e.holds() && !e.waits() }

// waits reports whether e is a client whose application is being woken.
func (e *end) waits() bool { return e.pair.waking && e == &e.pair.client }

// hungUp reports whether the end, or a reset, has arrived, and nothing before it.
func (e *end) hungUp() bool {
	n, err := receive(e.fd, make([]byte, 1), unix.MSG_PEEK)
	if err != nil {
		e.failed = true // the kernel tells of it once
	}
	return n == 0 || err != nil
}

// drop gives up what is held.
func (e *end) drop() {
	if e.chunk != nil {
		chunks.Put(e.chunk)
	}
	e.chunk, e.held = nil, nil
	if e.pipe != nil {
		e.pipe.close()
		e.pipe = nil
	}
}

// write sends what there is room for, which may be nothing.
func (e *end) write(b []byte) (n int, err error) {
	n, err = send(e.fd, b)
	return max(n, 0), err
}

// again calls f until no signal interrupts it. Nothing done for lack of data or room is no
// error, and -1.
func again(f func() (int, error)) (n int, err error) {
	for {
		n, err = f()
		switch err {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return -1, nil
		}
		return n, err
	}
}
