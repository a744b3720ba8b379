package api

import (
	"errors"
	"net/http"

	"doze/healthgate"
)

// forward sends the request to m and reports whether it has been answered, or cannot be
// any more, and how it ended, which is its caller's to count. False: the target took no
// connection, nothing has been sent, and the request may be held again.
func (g *Gate) forward(
	site *Site, m *healthgate.Member, w http.ResponseWriter, r *http.Request,
) (end outcome, answered bool) {
	up := g.upstreams.of(site, m)
	err := g.inFlight(m, func() error { return up.serve(w, r) })
	switch {
	case err == nil:
		g.succeeded(site, m, up)
		return servedReady, true
	case r.Context().Err() != nil:
		return clientLeft, true
	case errors.Is(err, errBadBody):
		g.send(w, r, brokenBody)
		return clientLeft, true
	}
	g.failed(site, m, up, err)
	if errors.Is(err, healthgate.ErrDial) {
		return upstreamBad, false
	}
	g.send(w, r, brokenTarget)
	return upstreamBad, true
}

// succeeded ends a run of failures.
func (g *Gate) succeeded(site *Site, m *healthgate.Member, up *upstream) {
	if up.failing.Load() && up.failing.CompareAndSwap(true, false) {
		site.Group.Gate().Report(m, nil)
	}
}

// failed tells the health gate of a failure, and the log if somebody will see it.
func (g *Gate) failed(site *Site, m *healthgate.Member, up *upstream, err error) {
	up.failing.Store(true)
	site.Group.Gate().Report(m, err)
	if errors.Is(err, healthgate.ErrDial) {
		g.metrics.refused.Inc()
		return
	}
	g.log.Warn("target broke off", "group", site.Group.ID().String(), "target", m.Addr,
		"error", err)
}

// inFlight counts one exchange as in flight to m until both directions have ended, and as
// broken off if it ends in a panic; see upstream.serve.
func (g *Gate) inFlight(m *healthgate.Member, exchange func() error) error {
	m.InFlight.Add(1)
	whole := false
	defer func() {
		m.InFlight.Add(-1)
		if !whole {
			g.metrics.requests[brokeOff].Inc()
		}
	}()
	err := exchange()
	whole = true
	return err
}

// timedWriter calls began once, just before the head of the answer is sent.
type timedWriter struct {
	http.ResponseWriter
	began func()
}

func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *timedWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		t.begin()
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *timedWriter) Write(p []byte) (int, error) {
	t.begin()
	return t.ResponseWriter.Write(p)
}

func (t *timedWriter) begin() {
	if t.began != nil {
		t.began()
		t.began = nil
	}
}
