package api_test

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipes is a network inside a bubble: listeners by address, connections of two net.Pipes,
// so that one direction can be closed alone.
type pipes struct {
	mu    sync.Mutex
	open  map[string]*pipeListener
	dials map[string]int
}

func newPipes() *pipes {
	return &pipes{open: map[string]*pipeListener{}, dials: map[string]int{}}
}

// listen opens addr with room for backlog connections that nobody has accepted yet.
func (p *pipes) listen(addr string, backlog int) *pipeListener {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &pipeListener{addr: pipeAddr(addr), conns: make(chan net.Conn, backlog),
		done: make(chan struct{})}
	p.open[addr] = l
	return l
}

func (p *pipes) dialled(addr string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials[addr]
}

// DialContext refuses where nobody listens or the backlog is full.
func (p *pipes) DialContext(_ context.Context, network, addr string) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials[addr]++
	l := p.open[addr]
	refused := &net.OpError{Op: "dial", Net: network, Addr: pipeAddr(addr),
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	if l == nil || l.isClosed() {
		return nil, refused
	}
	near, far := newPipeConns(addr)
	select {
	case l.conns <- far:
		return near, nil
	default:
		return nil, refused
	}
}

type pipeListener struct {
	addr  pipeAddr
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) isClosed() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Close resets what nobody has accepted.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	for {
		select {
		case c := <-l.conns:
			c.Close()
		default:
			return nil
		}
	}
}

func (l *pipeListener) Addr() net.Addr { return l.addr }

type pipeAddr string

func (a pipeAddr) Network() string { return "pipe" }
func (a pipeAddr) String() string  { return string(a) }

// pipeConn reads from one pipe and writes to another.
type pipeConn struct {
	in, out net.Conn
	peer    pipeAddr
}

func newPipeConns(addr string) (near, far *pipeConn) {
	a, b := net.Pipe()
	c, d := net.Pipe()
	return &pipeConn{in: a, out: c, peer: pipeAddr(addr)},
		&pipeConn{in: d, out: b, peer: "192.0.2.7:5555"}
}

func (c *pipeConn) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if err == io.ErrClosedPipe {
		err = net.ErrClosed
	}
	return n, err
}

func (c *pipeConn) Write(p []byte) (int, error)        { return c.out.Write(p) }
func (c *pipeConn) CloseWrite() error                  { return c.out.Close() }
func (c *pipeConn) LocalAddr() net.Addr                { return pipeAddr("local:1") }
func (c *pipeConn) RemoteAddr() net.Addr               { return c.peer }
func (c *pipeConn) SetReadDeadline(t time.Time) error  { return c.in.SetReadDeadline(t) }
func (c *pipeConn) SetWriteDeadline(t time.Time) error { return c.out.SetWriteDeadline(t) }

func (c *pipeConn) Close() error {
	c.in.Close()
	return c.out.Close()
}

func (c *pipeConn) SetDeadline(t time.Time) error {
	if err := c.in.SetDeadline(t); err != nil {
		return err
	}
	return c.out.SetDeadline(t)
}
