package healthgate_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
)

// network is a network of pipes, for tests in a bubble. An address nobody listens on
// refuses; one that swallows never answers, not even the dial.
type network struct {
	mu       sync.Mutex
	open     map[string]*pipeListener
	swallows map[string]bool
	dials    map[string]int
	taken    map[string]int // dials that were accepted
}

func newNetwork(t testing.TB) *network {
	n := &network{
		open: map[string]*pipeListener{}, swallows: map[string]bool{},
		dials: map[string]int{}, taken: map[string]int{},
	}
	t.Cleanup(func() {
		for _, l := range n.open {
			l.Close()
		}
	})
	return n
}

func (n *network) listen(addr string) *pipeListener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	if old := n.open[addr]; old != nil {
		old.Close()
	}
	n.open[addr] = l
	return l
}

// refuse has addr refuse again.
func (n *network) refuse(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.open[addr]; l != nil {
		l.Close()
		delete(n.open, addr)
	}
}

func (n *network) swallow(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.swallows[addr] = true
}

func (n *network) dialled(addr string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials[addr]
}

func (n *network) accepted(addr string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.taken[addr]
}

func (n *network) route(addr string) (l *pipeListener, swallowed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials[addr]++
	return n.open[addr], n.swallows[addr]
}

func (n *network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l, swallowed := n.route(addr)
	if swallowed {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	refused := &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	if l == nil {
		return nil, refused
	}
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		n.mu.Lock()
		defer n.mu.Unlock()
		n.taken[addr]++
		return here, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// accept takes connections on addr and gives each to serve, which must close it.
func (n *network) accept(addr string, serve func(net.Conn)) {
	l := n.listen(addr)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
}

// answer listens on addr and closes each connection: enough for a tcp probe.
func (n *network) answer(addr string) {
	n.accept(addr, func(conn net.Conn) { conn.Close() })
}

// hang listens on addr and reads for ever without an answer.
func (n *network) hang(addr string) {
	n.accept(addr, func(conn net.Conn) {
		_, _ = io.Copy(io.Discard, conn) // ends when the probe closes
		conn.Close()
	})
}

// serve listens on addr with an HTTP server, HTTP/2 in cleartext included.
func (n *network) serve(t *testing.T, addr string, h http.Handler) {
	t.Helper()
	s := &http.Server{Handler: h, Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	l := n.listen(addr)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("server at %s: %v", addr, err)
		}
	})
}

type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }
