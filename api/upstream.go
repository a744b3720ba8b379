package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"doze/healthgate"
)

const (
	// upstreamIdle is below the keep-alive timeout of common servers (5 s), so that a
	// connection is rarely reused just as the target closes it.
	upstreamIdle = 4 * time.Second
	maxIdleConns = 1024 // idle connections kept to one target
	dialTimeout  = 5 * time.Second
	// continueWait is how long a target may take to say 100 Continue before the body is
	// sent all the same (RFC 9110, 10.1.1).
	continueWait = time.Second
)

// upstreams are the connection pools, one a member: a target that comes back in another
// wake never gets a connection from before.
type upstreams struct {
	dial     healthgate.DialFunc
	upgraded *healthgate.Upgraded
	members  sync.Map // *healthgate.Member → *upstream
}

func newUpstreams(dial healthgate.DialFunc, upgraded *healthgate.Upgraded) *upstreams {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	if upgraded == nil {
		upgraded = &healthgate.Upgraded{}
	}
	return &upstreams{dial: dial, upgraded: upgraded}
}

// of returns the pool of m.
func (u *upstreams) of(site *Site, m *healthgate.Member) *upstream {
	if up, ok := u.members.Load(m); ok {
		return up.(*upstream)
	}
	up, loaded := u.members.LoadOrStore(m, u.newUpstream(m))
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

// upstream is one member's connections.
type upstream struct {
	addr     string
	dial     healthgate.DialFunc
	upgraded *healthgate.Upgraded
	pace     pace
	failing  atomic.Bool // the last exchange failed

	h1   *h1Pool         // plain exchanges
	any  *http.Transport // everything else in HTTP/1.1
	grpc *http.Transport // HTTP/2 in clear text, by prior knowledge
}

func (u *upstreams) newUpstream(m *healthgate.Member) *upstream {
	up := &upstream{addr: m.Addr, dial: u.dial, upgraded: u.upgraded, pace: newPace()}
	up.h1 = &h1Pool{connect: up.connect}
	up.any, up.grpc = newTransport(up.connect), newTransport(up.connect)
	up.grpc.Protocols = &http.Protocols{}
	up.grpc.Protocols.SetUnencryptedHTTP2(true)
	return up
}

func newTransport(connect func(context.Context) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return connect(ctx)
		},
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHead,
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        upstreamIdle,
		ExpectContinueTimeout:  continueWait,
	}
}

// connect dials when the target's pace allows. Its error wraps healthgate.ErrDial.
func (up *upstream) connect(ctx context.Context) (net.Conn, error) {
	if err := up.pace.enter(ctx); err != nil {
		return nil, fmt.Errorf("cannot wait for a connection to %q: %w", up.addr, err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := up.dial(ctx, "tcp", up.addr)
	if err != nil {
		up.pace.leave()
		return nil, fmt.Errorf("%w to %q: %w", healthgate.ErrDial, up.addr, err)
	}
	up.pace.settle()
	return conn, nil
}

func (up *upstream) close() {
	up.h1.close()
	up.any.CloseIdleConnections()
	up.grpc.CloseIdleConnections()
}
