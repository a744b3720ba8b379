package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"doze/healthgate"
)

// frontBuffer is how long a plain request may be.
const frontBuffer = 4 << 10

// frontConn is a client's connection as long as the front serves it. Only its goroutine
// touches what is not guarded.
type frontConn struct {
	net.Conn
	front *Front
	peer  string
	buf   []byte // what has been read and not served yet is buf[:n]
	n     int
	out   []byte // what is about to be sent to the client
	req   plainRequest
	until time.Time                   // the read deadline
	stall stall                       // bounds what is written
	over  func(*h1Conn) (bool, error) // exchange, bound once

	mu     sync.Mutex // never held across anything that blocks
	busy   bool       // serving a request
	since  int        // ticks of the watch since the exchange began
	target *h1Conn    // of the exchange under way
	gone   bool       // closed by another goroutine than its own: nothing is to be sent
}

func newFrontConn(f *Front, conn net.Conn) *frontConn {
	c := &frontConn{Conn: conn, front: f, peer: unknownPeer, buf: make([]byte, frontBuffer)}
	if host, _, err := net.SplitHostPort(conn.RemoteAddr().String()); err == nil {
		c.peer = host
	}
	c.over = c.exchange
	return c
}

// serve serves one request after the other until the client leaves, or something comes
// that is left to the server.
func (c *frontConn) serve() {
	defer c.front.remove(c)
	for limit := readHeaderTimeout; c.read(limit); limit = keepAliveTimeout {
		site := c.plainSite()
		if site == nil || !c.forward(site) {
			c.hand()
			return
		}
		if !c.setIdle() {
			break
		}
	}
	c.Close()
}

// read waits for a request, unless one is there already, and reports whether one came. A
// head that does not come in one piece is left to the server, which bounds its time.
func (c *frontConn) read(limit time.Duration) bool {
	if c.n == 0 {
		c.expectWithin(limit)
		n, err := c.Conn.Read(c.buf)
		if err != nil {
			return false
		}
		c.n = n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = true
	return !c.gone
}

// expectWithin sets the read deadline, not anew for every request.
func (c *frontConn) expectWithin(limit time.Duration) {
	now := time.Now()
	if c.until.Sub(now) > limit/2 && c.until.Sub(now) <= limit {
		return
	}
	c.until = now.Add(limit)
	_ = c.SetReadDeadline(c.until) // of a closed connection: the read will tell
}

// setIdle makes ready for the next request; false: there is to be none.
func (c *frontConn) setIdle() bool {
	c.n = copy(c.buf, c.buf[c.req.size:c.n])
	if cap(c.out) > 2*frontBuffer {
		c.out = nil // an idle connection keeps little
	}
	c.mu.Lock()
	c.busy = false
	c.mu.Unlock()
	return !c.front.isClosing() // looked at last: from now on closeIdle closes it
}

// closeIdle closes the connection unless a request is being served.
func (c *frontConn) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy {
		c.gone = true
		c.Close()
	}
}

// hand gives the connection to the server as if nothing had been read.
func (c *frontConn) hand() {
	_ = c.SetDeadline(time.Time{}) // of a closed connection: the server will see
	c.front.handed.hand(&handedConn{Conn: c.Conn, early: c.buf[:c.n]})
}

// Write sends to the client, for as long as it reads.
func (c *frontConn) Write(p []byte) (int, error) {
	c.stall.bound(c.Conn)
	return c.Conn.Write(p)
}

// plainSite returns the site of a plain request that is not to be ignored, or nil.
func (c *frontConn) plainSite() *Site {
	if !c.req.parse(c.buf[:c.n]) {
		return nil
	}
	site, _ := c.front.gate.routes.find(c.req.host, c.req.path)
	if site == nil || site.Ignore.match(c.req.path, c.req.agent) {
		return nil
	}
	return site
}

// forward serves the request as Gate.serve does and reports whether it did; false: nothing
// has been sent to anybody. An answer that breaks off closes the connection.
func (c *frontConn) forward(site *Site) (served bool) {
	group := site.Group
	open := group.Acquire()
	defer group.Release()
	if !open {
		return false
	}
	m := group.Gate().Pick()
	if m == nil || site.state.timed.Load() < uint64(m.Generation) {
		return false // nobody there, or the wake's Server-Timing is still to be told
	}
	defer func() {
		if cause := recover(); cause != nil {
			if cause != http.ErrAbortHandler {
				c.front.gate.log.Error("panic in the request path", "cause", cause)
			}
			served = true
			c.Close()
		}
	}()
	return c.front.gate.forwardPlain(site, m, c)
}

// forwardPlain is forward for a request of the front's.
func (g *Gate) forwardPlain(site *Site, m *healthgate.Member, c *frontConn) (served bool) {
	up := g.upstreams.of(site, m)
	err := g.inFlight(m, func() error {
		return up.h1.run(context.Background(), c.req.repeatable, c.over)
	})
	if err == nil {
		g.metrics.requests[servedReady].Inc()
		g.succeeded(site, m, up)
		return true
	}
	g.failed(site, m, up, err)
	if errors.Is(err, healthgate.ErrDial) {
		return false
	}
	w := newFrontWriter(c)
	g.refuse(w, c.request(), brokenTarget, upstreamBad)
	if w.finish() != nil {
		c.Close()
	}
	return true
}

// exchange sends the request to the target and its answer to the client. It breaks off when
// the client has left: neither is that the target's fault nor is anything to be sent again.
func (c *frontConn) exchange(h *h1Conn) (keep bool, err error) {
	c.begin(h)
	defer func() { // runs when the answer breaks off, too
		gone := c.end()
		if gone || !keep {
			keep = false
			h.Close()
		}
		if gone && err != nil {
			panic(http.ErrAbortHandler)
		}
	}()
	h.out = c.req.appendTo(h.out[:0], c.peer)
	if err := h.ask(); err != nil {
		return false, err
	}
	var head simpleHead
	if h.readSimple(&head, c.req.isHEAD) {
		h.headLeft = -1
		return c.sendSimple(h, &head), nil
	}
	w := newFrontWriter(c)
	keep, err = h.sendAny(w, c.request())
	if err == nil && w.finish() != nil {
		panic(http.ErrAbortHandler)
	}
	return keep, err
}

// request is as much of the request as answers depend on.
func (c *frontConn) request() *http.Request {
	return &http.Request{Method: c.req.method, ProtoMajor: 1, ProtoMinor: 1}
}

// begin lets the exchange be cut from now on.
func (c *frontConn) begin(h *h1Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target, c.since = h, 0
	if c.gone {
		h.cut()
	}
}

// end reports whether the exchange has been cut.
func (c *frontConn) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target = nil
	return c.gone
}

// cut ends whatever is under way.
func (c *frontConn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cutLocked()
}

func (c *frontConn) cutLocked() {
	c.gone = true
	c.Close()
	if c.target != nil {
		c.target.cut()
	}
}

// watch closes the target's connection when the client has left it waiting for an answer.
func (c *frontConn) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.target == nil {
		return
	}
	if c.since++; c.since > 1 && isClosedByPeer(c.Conn) {
		c.cutLocked()
	}
}
