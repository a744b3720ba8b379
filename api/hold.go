package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"doze/healthgate"
	"doze/idle"
)

const (
	// autoHold is how long waiting = "auto" holds a navigation before it gives the page.
	autoHold = 1500 * time.Millisecond
	// wakeGrace is what a request that is not to wait allows the wake: a thaw takes less.
	wakeGrace = 10 * time.Millisecond

	// limitGrace is how much longer than its limit a request is held: the wake that it has
	// caused has the same limit and began just after it came, and is to say what it gets.
	limitGrace = 100 * time.Millisecond

	refusedPause = 5 * time.Millisecond
)

var (
	errDeadline = errors.New("the request's deadline has come")
	errLeaving  = errors.New("the process is about to end")
	errFull     = errors.New("too many requests are held")
	errPatience = errors.New("the request is not to wait any longer")
)

// hold is one request that waits for its group. Its body is not read, and 100 Continue not
// sent, before there is a target to take it.
type hold struct {
	gate    *Gate
	site    *Site
	w       http.ResponseWriter
	r       *http.Request
	arrived time.Time
	limit   time.Duration // from arrival, over falling asleep and waking together
	refused int           // how often a target took no connection
}

func newHold(g *Gate, site *Site, w http.ResponseWriter, r *http.Request) *hold {
	return &hold{gate: g, site: site, w: w, r: r, arrived: time.Now(), limit: site.wakeTimeout()}
}

// serve waits and forwards until the request has been answered. A target that refuses the
// connection sends it back to wait, within the same deadline.
func (h *hold) serve() {
	for {
		m, err := h.target()
		if err != nil {
			h.refuse(err)
			return
		}
		if h.forward(m) {
			return
		}
		h.refused++
	}
}

// target waits until there is a member to forward to.
func (h *hold) target() (*healthgate.Member, error) {
	if !h.enter() {
		return nil, errFull
	}
	defer h.leave()
	ctx, stop := h.watched()
	defer stop()
	if err := h.pause(ctx); err != nil {
		return nil, err
	}
	for {
		if err := h.await(ctx); err != nil {
			return nil, err
		}
		if m := h.site.Group.Gate().Pick(); m != nil {
			return m, nil
		} // else lost in between: the next await has the group woken again
	}
}

// pause keeps a request from hammering a target that counts as ready but takes no
// connections: after the second refusal it waits for 5 ms, then twice as long each time.
func (h *hold) pause(ctx context.Context) error {
	if h.refused < 2 {
		return nil
	}
	select {
	case <-time.After(refusedPause << min(h.refused-2, 6)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watched returns a context that ends at the deadline, or when the client or the process
// leaves.
func (h *hold) watched() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(h.r.Context())
	ctx, free := context.WithDeadlineCause(ctx, h.arrived.Add(h.limit+limitGrace), errDeadline)
	uncut := context.AfterFunc(h.gate.cut, func() { cancel(errLeaving) })
	unwatch := watchClient(h.r, func() { cancel(errClientLeft) })
	return ctx, func() {
		unwatch()
		uncut()
		free()
		cancel(nil)
	}
}

// await waits for the group as its waiting mode allows.
func (h *hold) await(ctx context.Context) error {
	patience := h.patience()
	if patience < 0 {
		return h.site.Group.Await(ctx, "request")
	}
	ctx, cancel := context.WithDeadlineCause(ctx, h.arrived.Add(patience), errPatience)
	defer cancel()
	return h.site.Group.Await(ctx, "request")
}

// patience is how long from its arrival the request waits before it gets the waiting
// mode's answer; negative: until the deadline.
func (h *hold) patience() time.Duration {
	switch h.site.Waiting {
	case WaitReject:
		return wakeGrace
	case WaitPage:
		if isNavigation(h.r) {
			return wakeGrace
		}
	case WaitAuto:
		if isNavigation(h.r) {
			return autoHold
		}
	}
	return -1
}

// forward sends the request on and reports whether it has been answered.
func (h *hold) forward(m *healthgate.Member) bool {
	g, admitted := h.gate, time.Now()
	h.site.state.firstOf(m.Generation)
	timed := &timedWriter{ResponseWriter: h.w, began: func() {
		g.metrics.coldStart.Observe(time.Since(h.arrived).Seconds())
		addTiming(h.w.Header(), h.site.Group.Status().LastWake, m.Generation, admitted)
	}}
	end, answered := g.forward(h.site, m, timed, h.r)
	if end == servedReady {
		end = servedHeld
	}
	if answered {
		g.metrics.requests[end].Inc()
	}
	return answered
}

// refuse answers a request that has not been admitted, by the reason.
func (h *hold) refuse(err error) {
	g := h.gate
	failure, isFailed := errors.AsType[*idle.FailedError](err)
	switch {
	case errors.Is(err, errFull):
		g.refuse(h.w, h.r, shed(), gaveShed)
	case isFailed:
		f := failed(failure.RetryAfter)
		if time.Since(h.arrived) >= h.limit {
			f = late(h.limit, failure.RetryAfter)
		}
		g.refuse(h.w, h.r, f, gaveFailed)
	case errors.Is(err, errPatience) && h.site.Waiting == WaitReject:
		g.refuse(h.w, h.r, rejected(), gaveReject)
	case errors.Is(err, errPatience):
		g.refuse(h.w, h.r, waking(h.limit), gavePage)
	case errors.Is(err, errDeadline):
		g.refuse(h.w, h.r, late(h.limit, time.Second), gaveLate)
	case h.r.Context().Err() != nil || errors.Is(err, errClientLeft):
		g.metrics.requests[clientLeft].Inc()
	default:
		g.refuse(h.w, h.r, leaving(), gaveShutdown)
	}
}

// enter takes a place among the held, unless a bound has been reached.
func (h *hold) enter() bool {
	g := h.gate
	if h.site.state.held.Add(1) > h.site.maxHeld() {
		h.site.state.held.Add(-1)
		return false
	}
	if g.held.Add(1) > g.maxHeld {
		g.held.Add(-1)
		h.site.state.held.Add(-1)
		return false
	}
	g.metrics.held.Inc()
	return true
}

// leave gives the place back.
func (h *hold) leave() {
	h.gate.held.Add(-1)
	h.site.state.held.Add(-1)
	h.gate.metrics.held.Dec()
	h.gate.metrics.hold.Observe(time.Since(h.arrived).Seconds())
}
