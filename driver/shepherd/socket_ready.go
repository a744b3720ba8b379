package shepherd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"doze/driver/shepherd/sockdiag"
	"doze/healthgate"
	"doze/idle"

	"golang.org/x/sys/unix"
)

const (
	firstLook   = 250 * time.Microsecond // at a probe's connection, the next ones
	lookMost    = 25 * time.Millisecond  // twice as late each, up to this
	othersAfter = 100 * time.Millisecond // is how long only the probe's own counts
)

// dialAccepted is what tcp probes connect with. That the kernel has taken a connection proves
// nothing, since it does so for an application that is still starting: the application has to
// have accepted it or, where it serves one after the other, one of somebody else's.
func (p *socketPort) dialAccepted(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := p.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if err := p.awaitAccepted(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (p *socketPort) awaitAccepted(ctx context.Context, conn net.Conn) error {
	if p.defersAccept() {
		return nil // it accepts no connection that says nothing, and a tcp probe does not
	}
	server := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	client := conn.LocalAddr().(*net.TCPAddr).AddrPort()
	began, asked := time.Now(), false
	for wait := firstLook; ; wait = min(2*wait, lookMost) {
		accepted, err := sockdiag.Accepted(server, client)
		switch {
		case err != nil:
			return &healthgate.ProbeError{Verdict: healthgate.Unknown, Err: err}
		case accepted && wasReset(conn):
			return p.notAccepted(ctx, syscall.ECONNRESET)
		case accepted:
			return nil
		}
		if !asked && time.Since(began) > othersAfter {
			asked = true
			if p.servesOthers() {
				return nil
			}
		}
		if !pause(ctx, wait) {
			return p.notAccepted(ctx, ctx.Err())
		}
	}
}

// wasReset reports whether the other side has thrown the connection away: refuse does so.
func wasReset(conn net.Conn) bool {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return false
	}
	pending := 0
	_ = raw.Control(func(fd uintptr) { // an error leaves 0, which says nothing of a reset
		pending, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	})
	return syscall.Errno(pending) == syscall.ECONNRESET
}

// defersAccept reports whether the application has set TCP_DEFER_ACCEPT; see tcp(7).
func (p *socketPort) defersAccept() bool {
	seconds := 0
	err := p.control(func(fd int) (err error) {
		seconds, err = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT)
		return err
	})
	return err == nil && seconds > 0
}

// servesOthers reports whether the application has accepted a connection that is still open.
func (p *socketPort) servesOthers() bool {
	conns, err := sockdiag.Connections(p.at)
	return err == nil && slices.ContainsFunc(conns, func(c sockdiag.Conn) bool { return c.Accepted })
}

// refuseWithin bounds the wait for a task that is just about to change.
const refuseWithin = 100 * time.Millisecond

// notAccepted is the error of a probe whose connection was not accepted because of err. Where
// nobody ever will accept any, those who wait are refused.
func (p *socketPort) notAccepted(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	select {
	case p.unanswered <- struct{}{}:
	default: // told already
	}
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), refuseWithin)
	defer cancel()
	if p.whileAbandoned(soon, p.inode, p.refuse) {
		return &healthgate.ProbeError{Verdict: healthgate.Dead,
			Err: errors.New("no process of the task has its listening socket open any more")}
	}
	return &healthgate.ProbeError{Verdict: healthgate.Busy,
		Err: fmt.Errorf("the application has not accepted a connection: %w", err)}
}

// askWhenUnanswered asks for the task as a client would when the application no longer accepts:
// its clients do not come by here, and nobody else would find out that it has failed.
func (p *socketPort) askWhenUnanswered(ctx context.Context) {
	for {
		select {
		case <-p.unanswered:
			if p.group.Status().State == idle.Ready && p.group.Gate().Pick() == nil {
				p.ask(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (p *socketPort) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	p.group.Acquire()
	defer p.group.Release()
	if err := p.group.Await(ctx, "it accepts no connection any more"); err != nil {
		p.log.Info("cannot wake", "err", err)
	}
}

// whileAbandoned runs f if the task has processes, of which none has the port's socket open,
// and none is started meanwhile. It reports whether it did.
func (t *task) whileAbandoned(ctx context.Context, socket uint32, f func()) bool {
	if t.lock(ctx) != nil {
		return false
	}
	defer t.unlock()
	app, _, _ := t.look()
	if app == nil {
		return false
	}
	pids := t.cgroups.Processes()
	if !slices.Contains(pids, app.pid) || socketsOf(pids)[socket] {
		return false
	}
	f()
	return true
}
