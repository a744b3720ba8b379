package shepherd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"doze/driver/shepherd/sockdiag"
	"doze/driver/shepherd/watch"
	"doze/idle"

	"golang.org/x/sys/unix"
)

// socketPort holds a listening socket that the application accepts from itself. It looks at
// the socket only while the task sleeps, and learns of its use from the kernel.
type socketPort struct {
	socket  *os.File // the listening socket, blocking, as the application expects it
	at      netip.AddrPort
	inode   uint32 // of the socket, as /proc/<pid>/fd names it
	watch   *watch.Watch
	ended   *sockdiag.Ended
	timeout time.Duration // of a wake
	every   time.Duration // how exactly the end of a connection is dated
	log     *slog.Logger
	group   *idle.Group // set before serve
	still   func() bool // whether the task still sleeps; set before serve
	// whileParked runs a function where there is no process, and whileAbandoned where none
	// can accept from the socket. Both keep it so meanwhile; set before serve.
	whileParked    func(ctx context.Context, f func())
	whileAbandoned func(ctx context.Context, socket uint32, f func()) bool

	last   atomic.Int64 // Unix nanoseconds of the last end of a connection; 0: none
	probes probePorts
	closed atomic.Bool
	// unanswered tells of a probe whose connection was not accepted; it holds one token.
	unanswered chan struct{}
}

func newSocketPort(s *Spec) (*socketPort, error) {
	l, err := listen(s.Listen)
	if err != nil {
		return nil, err
	}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	p := &socketPort{at: at, timeout: s.WakeTimeout, every: dating(s.firstStep()),
		unanswered: make(chan struct{}, 1)}
	p.socket, err = detach(l)
	if err == nil {
		p.inode, err = p.readInode()
	}
	if err == nil {
		p.watch, err = watch.New(int(p.socket.Fd()), unix.EPOLLIN)
	}
	if err == nil {
		p.ended, err = sockdiag.Listen(at.Port())
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return p, nil
}

func (p *socketPort) readInode() (uint32, error) {
	var about unix.Stat_t
	err := p.control(func(fd int) error { return unix.Fstat(fd, &about) })
	return uint32(about.Ino), err
}

// detach takes the socket out of Go's poller, which would be told of every connection, and
// makes it block, as applications expect. l is closed.
func detach(l *net.TCPListener) (*os.File, error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	fd := -1
	var dupErr error
	err = raw.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3)
	})
	err = errors.Join(err, dupErr, l.Close())
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	return os.NewFile(uintptr(fd), "listener"), err
}

// dating is a tenth of the idle time, so that a sleep comes late by that much at most.
func dating(idleFor time.Duration) time.Duration {
	return min(max(idleFor/10, 10*time.Millisecond), time.Second)
}

func (p *socketPort) addr() string { return p.at.String() }

// close closes the shepherd's own descriptor, in case the application's is not closed yet.
func (p *socketPort) close() {
	p.closed.Store(true)
	_ = p.watch.Close() // all of them are closed once more at worst
	_ = p.ended.Close()
	_ = p.socket.Close()
}

func (p *socketPort) awake() error { return p.unlessClosed(p.watch.Disarm()) }

func (p *socketPort) asleep() error {
	return p.unlessClosed(errors.Join(p.listenAgain(), p.watch.Arm()))
}

// unlessClosed is err, or nil when the task has ended meanwhile.
func (p *socketPort) unlessClosed(err error) error {
	if p.closed.Load() {
		return nil
	}
	return err
}

// listenAgain undoes a shutdown(2) of the application's, which some use to get out of
// accept(2): the socket is the same for both.
func (p *socketPort) listenAgain() error {
	return p.control(func(fd int) error {
		listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		if err == nil && listens == 0 {
			err = unix.Listen(fd, unix.SOMAXCONN)
		}
		if err != nil {
			return fmt.Errorf("cannot listen again: %w", err)
		}
		return nil
	})
}

// give hands the socket over. The application is reached like anybody would, at the
// loopback address where it listens on all.
func (p *socketPort) give() (portGift, error) {
	if err := p.listenAgain(); err != nil {
		return portGift{}, err
	}
	at := p.at
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
		if p.at.Addr().Is4() {
			at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
		}
	}
	return portGift{port: int(at.Port()), addr: at.String(), file: p.socket}, nil
}

// serve wakes the task for connections and dates the ends of others.
func (p *socketPort) serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, p.close)()
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { p.dateEnds(ctx) })
	beside.Go(func() { p.askWhenUnanswered(ctx) })
	defer p.close()
	for p.watch.Wait() == nil {
		retry := p.wake(ctx)
		if retry > 0 && pause(ctx, retry) && p.still() {
			if err := p.asleep(); err != nil {
				p.log.Error("the port is not watched any more", "err", err)
			}
		}
	}
	return nil
}

// wake wakes the task and returns after what time to look at the socket again; 0: the next
// sleep arms it.
func (p *socketPort) wake(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	defer p.group.Release()
	if p.group.Acquire() {
		return 0
	}
	err := p.group.Await(ctx, "connection")
	if err == nil {
		return 0
	}
	failed, ok := errors.AsType[*idle.FailedError](err)
	if !ok {
		return lookAgainAfter
	}
	p.whileParked(ctx, p.refuse)
	return failed.RetryAfter
}

// dateEnds notes when connections end, not more often than it matters.
func (p *socketPort) dateEnds(ctx context.Context) {
	for {
		remote, lost, err := p.ended.Next()
		if err != nil {
			return // closed
		}
		if !lost && !p.strangers(remote) {
			continue
		}
		p.last.Store(time.Now().UnixNano())
		if !pause(ctx, p.every) {
			return
		}
	}
}

// strangers reports whether any of the connections was not one of this process's probes.
func (p *socketPort) strangers(remote []netip.AddrPort) bool {
	found := false
	for _, r := range remote {
		found = !p.probes.forget(r.Port()) || found
	}
	return found
}

// connections counts those of clients, and those of this process's own probes.
func (p *socketPort) connections() (clients, probes int64, err error) {
	before := p.probes.all() // one may end, and be forgotten, while the kernel is asked
	conns, err := sockdiag.Connections(p.at)
	if err != nil {
		return 0, 0, err
	}
	for _, c := range conns {
		if port := c.Remote.Port(); slices.Contains(before, port) || p.probes.has(port) {
			probes++
		} else {
			clients++
		}
	}
	return clients, probes, nil
}

// settle waits for the last probes to be accepted, so that none is left to wake the task
// that it asked about. The gate is shut: there will be no more.
func (p *socketPort) settle(ctx context.Context, _ idle.Depth) {
	for range 50 {
		if _, probes, err := p.connections(); err != nil || probes == 0 {
			return
		}
		if !pause(ctx, 2*time.Millisecond) {
			return
		}
	}
}

func (p *socketPort) activity() (int64, time.Time, bool) {
	n, _, err := p.connections()
	if err != nil {
		p.log.Warn("cannot tell whether the task is in use", "err", err)
		return 0, time.Time{}, false
	}
	var last time.Time
	if at := p.last.Load(); at != 0 {
		last = time.Unix(0, at)
	}
	return n, last, true
}

// busy looks again with every process frozen: what was accepted just before, or waits.
func (p *socketPort) busy() bool {
	clients, probes, err := p.connections()
	return err != nil || clients+probes > 0
}

func (p *socketPort) open() int64 {
	n, _, _ := p.connections() // for show
	return n
}

// dial is what the health gate's probes connect with. Their ports are known before they are
// connected, so that no look at the connections takes one for a client.
func (p *socketPort) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var bindErr error
		err := raw.Control(func(fd uintptr) { bindErr = p.probes.bind(int(fd)) })
		return errors.Join(err, bindErr)
	}}
	return d.DialContext(ctx, network, addr)
}
