package api

import (
	"errors"
	"net/http"

	"doze/healthgate"
)

// forward sends the request to m and reports whether it has been answered, or cannot be
// any more. False: the target took no connection, nothing has been sent, and the request
// may be held again.
func (g *Gate) forward(
	site *Site, m *healthgate.Member, w http.ResponseWriter, r *http.Request,
) bool {
	up := g.upstreams.of(site, m)
	err := up.exchange(m, w, r)
	switch {
	case err == nil:
		g.succeeded(site, m, up)
		return true
	case r.Context().Err() != nil:
		return true // the client has left
	case errors.Is(err, errBadBody):
		g.refuse(w, r, brokenBody, clientLeft)
		return true
	}
	g.failed(site, m, up, err)
	if errors.Is(err, healthgate.ErrDial) {
		return false
	}
	g.refuse(w, r, brokenTarget, upstreamBad)
	return true
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

// exchange is one request and its answer, counted as in flight to m until both have ended.
func (up *upstream) exchange(
	m *healthgate.Member, w http.ResponseWriter, r *http.Request,
) error {
	m.InFlight.Add(1)
	defer m.InFlight.Add(-1)
	return up.serve(w, r)
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
