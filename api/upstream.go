package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"doze/healthgate"
)

const (
	// upstreamIdle is below the keep-alive timeout of common servers (5 s), so that a
	// connection is rarely reused just as the target closes it.
	upstreamIdle   = 4 * time.Second
	upstreamIdlest = 1024 // idle connections kept to one target
	dialTimeout    = 5 * time.Second
	// continueWait is how long a target may take to say 100 Continue before the body is
	// sent all the same (RFC 9110, 10.1.1).
	continueWait = time.Second
)

// upstreams are the connection pools, one a member: a target that comes back in another
// wake never gets a connection from before.
type upstreams struct {
	dial    healthgate.DialFunc
	members sync.Map // *healthgate.Member → *upstream
}

func newUpstreams(dial healthgate.DialFunc) *upstreams {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return &upstreams{dial: dial}
}

// of returns the pool of m.
func (u *upstreams) of(site *Site, m *healthgate.Member) *upstream {
	if up, ok := u.members.Load(m); ok {
		return up.(*upstream)
	}
	up, loaded := u.members.LoadOrStore(m, newUpstream(m, u.dial))
	if !loaded && !isMember(site.Group.Gate(), m) {
		u.drop(m) // it left before the pool existed, so nobody else will
	}
	return up.(*upstream)
}

func isMember(gate *healthgate.Gate, m *healthgate.Member) bool {
	for _, s := range gate.Members() {
		if s.Target == m.Target && s.Generation == m.Generation {
			return true
		}
	}
	return false
}

func (u *upstreams) drop(m *healthgate.Member) {
	if up, ok := u.members.LoadAndDelete(m); ok {
		up.(*upstream).close()
	}
}

// upstream is one member's connections: HTTP/1.1, and HTTP/2 in clear text for gRPC.
type upstream struct {
	addr   string
	h1, h2 *http.Transport
	pace   pace
}

func newUpstream(m *healthgate.Member, dial healthgate.DialFunc) *upstream {
	up := &upstream{addr: m.Addr, pace: newPace()}
	connect := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return up.connect(ctx, dial)
	}
	up.h1, up.h2 = newTransport(connect), newTransport(connect)
	up.h2.Protocols = &http.Protocols{}
	up.h2.Protocols.SetUnencryptedHTTP2(true)
	return up
}

func newTransport(dial healthgate.DialFunc) *http.Transport {
	return &http.Transport{
		DialContext:           dial,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   upstreamIdlest,
		IdleConnTimeout:       upstreamIdle,
		ExpectContinueTimeout: continueWait,
	}
}

// connect dials when the target's pace allows. Its error wraps healthgate.ErrDial.
func (up *upstream) connect(ctx context.Context, dial healthgate.DialFunc) (net.Conn, error) {
	if err := up.pace.enter(ctx); err != nil {
		return nil, fmt.Errorf("cannot wait for a connection to %q: %w", up.addr, err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := dial(ctx, "tcp", up.addr)
	if err != nil {
		up.pace.leave()
		return nil, fmt.Errorf("%w to %q: %w", healthgate.ErrDial, up.addr, err)
	}
	up.pace.settle()
	return conn, nil
}

func (up *upstream) close() {
	up.h1.CloseIdleConnections()
	up.h2.CloseIdleConnections()
}
