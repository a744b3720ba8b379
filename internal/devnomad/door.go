package devnomad

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// door is the listener that can be shut and opened again. A TCP listener of our
// own is closed meanwhile, so that connections are refused; any other goes on
// accepting and drops at once what it accepts.
type door struct {
	mu      sync.Mutex
	inner   net.Listener
	own     bool
	isShut  bool
	changed chan struct{} // closed at every change
	ended   bool
	conns   map[net.Conn]struct{}
}

func newDoor(l net.Listener) (*door, error) {
	d := &door{inner: l, changed: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	if l == nil {
		var err error
		if d.inner, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("cannot listen for the API: %w", err)
		}
		d.own = true
	}
	return d, nil
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	for {
		d.mu.Lock()
		inner, shut, ended, changed := d.inner, d.isShut && d.own, d.ended, d.changed
		d.mu.Unlock()
		if ended {
			return nil, net.ErrClosed
		}
		if shut {
			<-changed
			continue
		}
		conn, err := inner.Accept()
		if err == nil {
			if conn = d.admit(conn); conn != nil {
				return conn, nil
			}
			continue
		}
		if !d.refusing() {
			return nil, err
		}
	}
}

func (d *door) refusing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isShut && !d.ended
}

// admit keeps track of a connection; nil: it came while the door was shut.
func (d *door) admit(conn net.Conn) net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isShut {
		conn.Close() // nothing was sent on it
		return nil
	}
	d.conns[conn] = struct{}{}
	return &doorConn{Conn: conn, door: d}
}

// doorConn forgets itself when it is closed.
type doorConn struct {
	net.Conn
	door *door
}

func (c *doorConn) Close() error {
	c.door.mu.Lock()
	delete(c.door.conns, c.Conn)
	c.door.mu.Unlock()
	return c.Conn.Close()
}

func (d *door) shut() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isShut || d.ended {
		return nil
	}
	d.isShut = true
	d.signal()
	var errs []error
	if d.own {
		errs = append(errs, d.inner.Close())
	}
	for conn := range d.conns {
		errs = append(errs, conn.Close())
	}
	clear(d.conns)
	return errors.Join(errs...)
}

func (d *door) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isShut || d.ended {
		return nil
	}
	if d.own {
		l, err := net.Listen("tcp", d.inner.Addr().String())
		if err != nil {
			return fmt.Errorf("cannot listen for the API again: %w", err)
		}
		d.inner = l
	}
	d.isShut = false
	d.signal()
	return nil
}

func (d *door) signal() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// Close implements net.Listener.
func (d *door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return nil
	}
	d.ended = true
	d.signal()
	if d.own && d.isShut {
		return nil
	}
	return d.inner.Close()
}

// Addr implements net.Listener.
func (d *door) Addr() net.Addr {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inner.Addr()
}
