package healthgate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Upgraded keeps account of connections that left HTTP (WebSockets, tunnels) and of
// responses without an end (event streams): http.Server.Shutdown does not wait for the
// first and waits for ever for the second. A Drain tells all of them, waits until they are
// gone and cuts the rest. The zero value is ready to use.
type Upgraded struct {
	mu      sync.Mutex
	leaving bool
	conns   map[*upgradedConn]struct{}
	empty   chan struct{} // closed when conns becomes empty; nil: nobody waits
}

type upgradedConn struct {
	tell func()
	cut  io.Closer
}

// Track takes a connection into the account; call gone, once or more, when both sides have
// closed. A Drain calls goingAway in a goroutine of its own (before Track has returned when
// it is under way already) to send a close frame or to end a stream; nil: can't be told.
// What is still there when the time is up is cut by closing conn; nil: it can't be cut.
// Track before the connection is hijacked, with a conn that closes what the hijack will
// give: between the two http.Server.Shutdown has forgotten it already.
func (u *Upgraded) Track(conn io.Closer, goingAway func()) (gone func()) {
	c := &upgradedConn{tell: goingAway, cut: conn}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conns == nil {
		u.conns = make(map[*upgradedConn]struct{})
	}
	u.conns[c] = struct{}{}
	if u.leaving {
		c.goAway()
	}
	return func() { u.remove(c) }
}

// Len returns how many connections are tracked.
func (u *Upgraded) Len() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.conns)
}

// goAway's goroutine ends when the connection has been told or, at the latest, cut.
func (c *upgradedConn) goAway() {
	if c.tell != nil {
		go c.tell()
	}
}

func (u *Upgraded) remove(c *upgradedConn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.conns, c)
	if len(u.conns) == 0 && u.empty != nil {
		close(u.empty)
		u.empty = nil
	}
}

// leave tells every connection, and from now on every new one.
func (u *Upgraded) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leaving = true
	for c := range u.conns {
		c.goAway()
	}
}

// stay makes the account usable for the next start.
func (u *Upgraded) stay() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leaving = false
}

// wait returns nil when no connection is left.
func (u *Upgraded) wait(limit drainLimit) error {
	select {
	case <-u.emptied():
		return nil
	case <-limit.hard.Done():
	}
	rest := u.rest()
	if len(rest) == 0 {
		return nil
	}
	errs := []error{fmt.Errorf("cannot finish %d upgraded connections: %w", len(rest),
		context.Cause(limit.soft))}
	for _, c := range rest {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

func (c *upgradedConn) close() error {
	if c.cut == nil {
		return nil
	}
	if err := c.cut.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil // it went by itself just now
}

func (u *Upgraded) emptied() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.empty == nil {
		u.empty = make(chan struct{})
	}
	empty := u.empty
	if len(u.conns) == 0 {
		close(u.empty)
		u.empty = nil
	}
	return empty
}

func (u *Upgraded) rest() []*upgradedConn {
	u.mu.Lock()
	defer u.mu.Unlock()
	rest := make([]*upgradedConn, 0, len(u.conns))
	for c := range u.conns {
		rest = append(rest, c)
	}
	return rest
}
