package relay

import (
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// loop passes on what arrives for its pairs, in one goroutine for all of them, which waits in
// epoll(7) and lives while there are pairs. A goroutine for each direction, as Go would have
// it, costs a change of goroutines, and often of threads, for every message.
type loop struct {
	pairs atomic.Int32 // until they are told to be over

	mu      sync.Mutex // held for one event at most; nothing waits under it
	resting bool       // a client's next byte calls Woken
	closed  bool
	running bool
	epoll   int // while it runs, as is
	alarm   int // an eventfd(2), see visit
	ends    map[int32]*end
	last    int32 // id that was given to an end
	over    []*Pair
	chunk   *chunk // for what is read and written in one go
	spare   *pipe  // an empty one, or nil
}

const (
	// alarmID is the id of the alarm.
	alarmID = 0
	// quietAfter is for how many milliseconds an empty pipe is kept while nothing happens.
	quietAfter = 1000
)

// add begins with a pair. What the client has sent already goes on at once.
func (l *loop) add(p *Pair) (err error) {
	l.visit(func() {
		if l.closed {
			err = net.ErrClosed
			return
		}
		if err = l.run(); err != nil {
			return
		}
		l.pairs.Add(1)
		for _, e := range []*end{&p.client, &p.app} {
			for l.last++; l.last == alarmID || l.ends[l.last] != nil; l.last++ {
			}
			e.id = l.last
			l.ends[e.id] = e
		}
		p.client.held, p.Head = p.Head, nil
		if l.resting { // it has been put to sleep since it was connected to
			l.rouse(p)
		} else {
			l.pump(&p.client)
		}
		l.watch(&p.app)
	})
	return err
}

// cutAll ends all pairs.
func (l *loop) cutAll() {
	for _, e := range l.ends {
		l.cut(e.pair)
	}
}

// do runs f with the lock held, and tells those whose pairs have ended by it.
func (l *loop) do(f func()) {
	l.mu.Lock()
	f()
	over := l.over
	l.over = nil
	l.mu.Unlock()
	for _, p := range over {
		l.pairs.Add(-1)
		if p.Over != nil {
			p.Over()
		}
	}
}

// visit is do for all but the goroutine, which has to look around where f has left a spare
// pipe, or no pairs.
func (l *loop) visit(f func()) {
	l.do(func() {
		f()
		if l.running && (l.spare != nil || len(l.ends) == 0) {
			_, _ = unix.Write(l.alarm, []byte{7: 1}) // it is full when it has rung already
		}
	})
}

// run starts the goroutine, where there is none.
func (l *loop) run() (err error) {
	if l.running {
		return nil
	}
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if l.alarm, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = l.control(unix.EPOLL_CTL_ADD, l.alarm, alarmID, unix.EPOLLIN)
		if err != nil {
			_ = unix.Close(l.alarm) // nobody knows it
		}
	}
	if err != nil {
		_ = unix.Close(l.epoll) // nobody knows it
		return err
	}
	l.ends, l.chunk, l.running = map[int32]*end{}, chunks.Get().(*chunk), true
	go l.serve(l.epoll)
	return nil
}

// serve is the goroutine.
func (l *loop) serve(epoll int) {
	var events [64]unix.EpollEvent
	for wait := -1; ; {
		n, err := unix.EpollWait(epoll, events[:], wait)
		if err != nil && err != unix.EINTR { // it is not our descriptor any more
			l.do(l.cutAll)
		}
		for _, ev := range events[:max(n, 0)] {
			l.do(func() { l.handle(ev) })
		}
		var over bool
		if wait, over = l.retire(n == 0); over {
			return
		}
	}
}

// retire returns for how many milliseconds to wait for events now, -1 for any. Where nothing has
// happened for as long as that it gives back the spare pipe, and everything, with over set,
// where nothing is left to serve.
func (l *loop) retire(quiet bool) (wait int, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	over = len(l.ends) == 0
	if l.spare != nil && (quiet || over) {
		l.spare.close()
		l.spare = nil
	}
	switch {
	case over:
		chunks.Put(l.chunk)
		_, _ = unix.Close(l.alarm), unix.Close(l.epoll) // both are ours alone
		l.ends, l.chunk, l.running = nil, nil, false
		return 0, true
	case l.spare != nil:
		return quietAfter, false
	}
	return -1, false
}

func (l *loop) handle(ev unix.EpollEvent) {
	e := l.ends[ev.Fd]
	switch {
	case ev.Fd == alarmID:
		_, _ = unix.Read(l.alarm, make([]byte, 8)) // it is enough that it rang
		return
	case e == nil: // it has ended meanwhile
		return
	}
	if ev.Events&unix.EPOLLOUT != 0 && e.peer.sends() { // else it is an old event
		l.pump(e.peer) // which waited for room
	}
	if ev.Events&^unix.EPOLLOUT != 0 && !e.pair.closed {
		l.arrived(e, ev.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0)
	}
}

// arrived deals with bytes, or the end, at e. A connection that is dead in both directions is
// told of again and again, whatever one wants to know.
func (l *loop) arrived(e *end, dead bool) {
	p := e.pair
	switch {
	case dead && e.ended:
		l.cut(p)
	case dead && !e.reads():
		l.forget(e) // until pump finds that it reads again
	case !e.reads(): // an old event
	case l.resting && e == &p.client && !e.farewell():
		l.rouse(p)
	default:
		l.pump(e)
	}
}

// pump passes on what is held of e's, and one piece of what has arrived.
func (l *loop) pump(e *end) {
	p := e.pair
	var err error
	if e.sends() {
		err = l.flush(e)
	}
	if err == nil && e.reads() {
		err = l.pass(e)
	}
	if err != nil || p.client.ended && p.app.ended {
		l.cut(p)
		return
	}
	l.watch(e)
	l.watch(e.peer)
}

// watch has the kernel tell of what e is to be asked for next.
func (l *loop) watch(e *end) {
	wants := uint32(0)
	if e.reads() {
		wants |= unix.EPOLLIN
	}
	if e.peer.sends() {
		wants |= unix.EPOLLOUT
	}
	op := unix.EPOLL_CTL_MOD
	switch {
	case e.pair.closed, e.watched && wants == e.wants, !e.watched && wants == 0:
		return
	case !e.watched:
		op = unix.EPOLL_CTL_ADD
	}
	if err := l.control(op, e.fd, e.id, wants); err != nil { // no memory, or no watch left
		l.cut(e.pair)
		return
	}
	e.watched, e.wants = true, wants
}

// forget has the kernel tell nothing of e until it is watched again.
func (l *loop) forget(e *end) {
	if e.watched {
		_ = l.control(unix.EPOLL_CTL_DEL, e.fd, e.id, 0) // it is there
		e.watched = false
	}
}

func (l *loop) control(op, fd int, id int32, events uint32) error {
	return unix.EpollCtl(l.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: id})
}
