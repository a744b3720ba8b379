package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// unrepeatableIdle is how long a connection may have been idle to be given to a
	// request that cannot be sent again if the target closes it just then.
	unrepeatableIdle = time.Second
)

// errUnanswered: the connection ended before the first byte of an answer.
var errUnanswered = errors.New("the connection ended before the answer began")

// errStale: the kept connection had ended before anything was sent.
var errStale = errors.New("the kept connection has ended")

// h1Pool exchanges plain requests (see isPlain) with one target over kept connections, each
// exchange on the caller's goroutine alone.
type h1Pool struct {
	connect func(context.Context) (net.Conn, error)

	mu     sync.Mutex // never held across anything that blocks
	idle   []*h1Conn  // the latest used last
	closed bool
	reaper *time.Timer // nil until a connection was first kept
}

// serve does what upstream.serve does.
func (p *h1Pool) serve(w http.ResponseWriter, r *http.Request) error {
	return p.run(r.Context(), isRepeatable(r.Method, r.Header), func(c *h1Conn) (bool, error) {
		return c.exchange(w, r)
	})
}

// run does one exchange over a kept connection or a new one. exchange reports whether the
// connection can be kept; otherwise it has closed it. Where it failed because a kept
// connection died before the request was sent, or under a repeatable one, it is called
// again with another.
func (p *h1Pool) run(
	ctx context.Context, repeatable bool, exchange func(*h1Conn) (keep bool, err error),
) error {
	for {
		c, err := p.take(ctx, repeatable)
		if err != nil {
			return err
		}
		keep, err := exchange(c)
		if err == nil {
			if keep {
				p.put(c)
			}
			return nil
		}
		again := errors.Is(err, errStale) ||
			c.used && errors.Is(err, errUnanswered) && repeatable
		if !again || ctx.Err() != nil {
			return err
		}
	}
}

// isRepeatable reports whether a request without a body may be sent again when a kept
// connection died under it: what is safe (RFC 9110, 9.2.1) or says so itself.
func isRepeatable(method string, h http.Header) bool {
	return isSafe(method) || h["Idempotency-Key"] != nil
}

func isSafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// take returns a kept connection that fits the request, or a new one.
func (p *h1Pool) take(ctx context.Context, repeatable bool) (*h1Conn, error) {
	limit := upstreamIdle
	if !repeatable {
		limit = unrepeatableIdle
	}
	for c := p.pop(); c != nil; c = p.pop() {
		if time.Since(c.idleSince) < limit {
			return c, nil
		}
		c.Close()
	}
	conn, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	return newH1Conn(conn), nil
}

func (p *h1Pool) pop() *h1Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return c
}

// put keeps a connection for the next request.
func (p *h1Pool) put(c *h1Conn) {
	c.used, c.idleSince = true, time.Now()
	p.mu.Lock()
	full := p.closed || len(p.idle) >= maxIdleConns
	if !full {
		p.idle = append(p.idle, c)
		if p.reaper == nil {
			p.reaper = time.AfterFunc(upstreamIdle, p.reap)
		} else if len(p.idle) == 1 {
			p.reaper.Reset(upstreamIdle)
		}
	}
	p.mu.Unlock()
	if full {
		c.Close()
	}
}

// reap closes what has been idle for too long, the oldest first; with nothing idle no
// timer runs.
func (p *h1Pool) reap() {
	p.mu.Lock()
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].idleSince) >= upstreamIdle {
		n++
	}
	old := append([]*h1Conn(nil), p.idle[:n]...)
	p.idle = append(p.idle[:0], p.idle[n:]...)
	if len(p.idle) > 0 {
		p.reaper.Reset(upstreamIdle - time.Since(p.idle[0].idleSince))
	}
	p.mu.Unlock()
	closeConns(old)
}

// close closes what is idle; what is in use is closed when its exchange has ended.
func (p *h1Pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	if p.reaper != nil {
		p.reaper.Stop()
	}
	p.mu.Unlock()
	closeConns(idle)
}

func closeConns(conns []*h1Conn) {
	for _, c := range conns {
		c.Close()
	}
}
