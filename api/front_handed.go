package api

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// handedConn is a connection that the front hands to the server, with what has been read
// from it in front of the rest.
type handedConn struct {
	net.Conn
	early []byte
	stall stall
}

// Write sends to the client, for as long as it reads.
func (c *handedConn) Write(p []byte) (int, error) {
	c.stall.bound(c.Conn)
	return c.Conn.Write(p)
}

// SetDeadline is what a hijack calls.
func (c *handedConn) SetDeadline(t time.Time) error {
	c.stall.forget()
	return c.Conn.SetDeadline(t)
}

func (c *handedConn) Read(p []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.early)
	c.early = c.early[n:]
	return n, nil
}

// CloseWrite ends what is sent to the client, if the connection can do that.
func (c *handedConn) CloseWrite() error {
	if half, ok := c.Conn.(closeWriter); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SyscallConn gives access to the socket, if there is one.
func (c *handedConn) SyscallConn() (syscall.RawConn, error) {
	if socket, ok := c.Conn.(syscall.Conn); ok {
		return socket.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// handedListener hands connections to a server.
type handedListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newHandedListener() *handedListener {
	return &handedListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// hand gives c away; when nobody takes connections any more, it is closed.
func (l *handedListener) hand(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		c.Close()
	}
}

// Accept waits for a connection.
func (l *handedListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *handedListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr is not an address that one could connect to.
func (l *handedListener) Addr() net.Addr { return &net.TCPAddr{} }
