package shepherd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"doze/driver/shepherd/relay"
	"doze/healthgate"
	"doze/idle"
)

// relayPort listens itself and passes connections on to the application's private port.
type relayPort struct {
	listener *net.TCPListener
	shield   relay.Shield
	timeout  time.Duration // of a wake
	log      *slog.Logger
	lives    lives // set before serve
	lean     *lean // set before serve
	group    *idle.Group
	private  privatePort // of the application; the caller of give guards it

	shortage shortage
	passing  relay.Relay
	health   relay.Relay  // requests for shielded paths, and
	shielded atomic.Int64 // how many of them are being passed on
}

// lives tells how the application is.
type lives interface {
	// answers returns where the application is to be asked for a shielded path now, "" where it
	// is not to be, and whether it is well then: asleep, or waking after it has been ready.
	answers() (addr string, well bool)
	// parked reports whether the application has ended, or is about to, since it is parked.
	parked() bool
}

func newRelayPort(s *Spec) (*relayPort, error) {
	l, err := listen(s.Listen)
	if err != nil {
		return nil, err
	}
	return &relayPort{
		listener: l,
		shield:   relay.NewShield(s.Shield),
		timeout:  s.WakeTimeout,
	}, nil
}

func listen(addr string) (*net.TCPListener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false) // neither splice(2) nor sock_diag(7) know it as TCP
	l, err := config.Listen(context.Background(), "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("cannot listen on %s: the port is in use by another process, "+
			"or by another task of the group with the same listen", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return l.(*net.TCPListener), nil
}

func (p *relayPort) addr() string { return p.listener.Addr().String() }
func (p *relayPort) close()       { _ = p.listener.Close() } // twice at worst

// awake has what clients have sent passed on.
func (p *relayPort) awake() error {
	p.passing.Resume()
	return nil
}

// Who comes while the application ends waits at the gate.
func (p *relayPort) keepOut() error { return nil }
func (p *relayPort) letIn() error   { return nil }

// asleep has the connections that stayed open to a frozen application watched: their next byte
// wakes. Those to one that was parked have ended with it, and the kernel says so.
func (p *relayPort) asleep() error {
	if p.lives.parked() {
		p.passing.Resume()
	} else {
		p.passing.Rest()
	}
	return nil
}

func (p *relayPort) activity() (int64, time.Time, bool) {
	return p.shielded.Load(), time.Time{}, true
}

func (p *relayPort) busy() bool { return p.shielded.Load() > 0 }

func (p *relayPort) open() int64 { return int64(p.passing.Len()) }

// give finds a free port for the next process. The last one has ended.
func (p *relayPort) give() (portGift, error) {
	p.private.release()
	var err error
	if p.private, err = newPrivatePort(); err != nil {
		return portGift{}, err
	}
	port := p.private.number
	return portGift{port: port, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}, nil
}

func (p *relayPort) serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, p.cut)() // also while the port is closed and some are open
	var conns sync.WaitGroup
	defer conns.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	places := make(chan struct{}, connsWithin(fileLimit()))
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := p.listener.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil: // out of something: what is open will end
			<-places
			if !p.wait(ctx, "cannot take a connection", err) {
				return nil
			}
			continue
		}
		conns.Add(1)
		go p.take(ctx, conn, func() {
			<-places
			conns.Done()
		})
	}
}

// cut ends everything that is open.
func (p *relayPort) cut() {
	p.close()
	p.passing.Close()
	p.health.Close()
}

// take carries one connection from its arrival to where it is passed on, or to its end. over is
// called at its end.
func (p *relayPort) take(ctx context.Context, conn *net.TCPConn, over func()) {
	var head []byte
	if p.shield.Any() {
		var class relay.Class
		head, class = p.peek(conn)
		switch {
		case class == relay.Shielded:
			p.answerShielded(conn, head)
			over()
			return
		case class == relay.Incomplete: // it left without a word
			_ = conn.Close() // nothing was sent that could get lost
			over()
			return
		}
	}
	app, err := p.reach(ctx, conn)
	if err != nil {
		_ = conn.SetLinger(0) // a reset says that nobody took it
		_ = conn.Close()
	} else {
		err = p.pass(&relay.Pair{Client: conn, App: app, Head: head,
			Woken: func() error { return p.wake(ctx) }}, over)
	}
	if err != nil {
		p.log.Info("connection refused", "from", conn.RemoteAddr(), "err", err)
		p.group.Release()
		over()
	}
}

// pass has everything passed on. Where it returns no error the lease of the group is given
// back at the end, when over is called.
func (p *relayPort) pass(pair *relay.Pair, over func()) error {
	pair.Over = func() {
		p.lean.leave()
		p.group.Release()
		over()
	}
	p.lean.enter()
	err := p.passing.Join(pair)
	if err != nil {
		p.lean.leave()
	}
	return err
}

// wake is for a client, which has its lease, of an application put to sleep under it. It waits
// as those do who come anew.
func (p *relayPort) wake(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	err := p.group.Await(ctx, "data on an open connection")
	if err != nil {
		p.log.Info("cannot wake", "err", err)
	}
	return err
}

// reach takes a lease, which the caller gives back, waits until the application is ready
// and connects to it. Until then nothing has been sent, so a refused connection goes back
// to the gate.
func (p *relayPort) reach(ctx context.Context, conn *net.TCPConn) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	ready := p.group.Acquire()
	for {
		if !ready {
			cause := "connection from " + conn.RemoteAddr().String()
			if err := p.group.Await(ctx, cause); err != nil {
				return nil, err
			}
		}
		if m := p.group.Gate().Pick(); m != nil {
			app, err := dialApp(ctx, "tcp", m.Addr)
			switch {
			case err == nil:
				return app.(*net.TCPConn), nil
			case healthgate.IsShortage(err):
				if !p.wait(ctx, "cannot connect to the application", err) {
					return nil, err
				}
				continue
			}
			p.group.Gate().Report(m, fmt.Errorf("%w: %w", healthgate.ErrDial, err))
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		ready = false
	}
}

// dialApp connects to an application's port on the IPv4 loopback address or, for one that
// listens there only, on the IPv6 one.
func dialApp(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return conn, err
	}
	_, port, splitErr := net.SplitHostPort(addr)
	if splitErr != nil {
		return nil, err
	}
	if conn, err6 := d.DialContext(ctx, network, net.JoinHostPort("::1", port)); err6 == nil {
		return conn, nil
	}
	return nil, err
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
