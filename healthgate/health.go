package healthgate

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
)

var (
	// ErrNotStarted is why Ready refuses before the first Health.Start.
	ErrNotStarted = errors.New("not started yet")
	// ErrDraining is why Ready refuses from Health.Drain to the next Health.Start.
	ErrDraining = errors.New("draining")
)

// Health answers two questions about this process: is it worth keeping running (liveness)
// and may it get requests now (readiness). Liveness is always ok and never runs a check: a
// dependency that is down is no reason to restart every replica. Readiness is unavailable
// until Start, while any check fails, and from Drain on.
//
// All methods are safe for concurrent use. A Health that nobody asks has no goroutine and
// no timer.
type Health struct {
	cfg    HealthConfig
	checks []*checker
	alive  healthAnswers
	denied healthAnswers
	misuse healthAnswer
	life   atomic.Pointer[readiness]
}

// NewHealth returns a Health that is not started. Its error joins every problem of cfg.
// A disabled cfg gives a Health that serves nothing and runs no check; its Ready follows
// Start and Drain alone.
func NewHealth(cfg HealthConfig) (*Health, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	h := &Health{
		cfg:    cfg.withDefaults(),
		alive:  newHealthAnswers(true, nil),
		denied: newHealthAnswers(false, nil),
		misuse: newMethodAnswer(),
	}
	for _, c := range h.cfg.Checks {
		h.checks = append(h.checks, &checker{Check: c, log: h.cfg.Log})
	}
	h.life.Store(newFixedReadiness(ErrNotStarted))
	return h, nil
}

// Enabled reports whether the endpoints are served.
func (h *Health) Enabled() bool { return h.cfg.Enabled }

// Start begins a life: readiness is what the checks say from now on. Nothing that was
// known before counts; whoever waits for a run of the life before waits for one of this
// life. Call it once what the process needs is up, and again after a restart or a thaw.
func (h *Health) Start() {
	h.begin(newReadiness(h.cfg, h.checks))
}

// Drain ends the life: readiness is unavailable at once and until the next Start, also for
// whoever waits for a run now. The contexts of running checks end. It does not wait.
func (h *Health) Drain() {
	h.begin(newFixedReadiness(ErrDraining))
}

func (h *Health) begin(r *readiness) {
	h.life.Swap(r).end()
}

// Changed returns a channel that is closed at the next Start or Drain. A change of what
// the checks say does not close it: checks run only when somebody asks.
func (h *Health) Changed() <-chan struct{} { return h.life.Load().ctx.Done() }

// Ready returns nil when this process may get requests. Otherwise it returns
// ErrNotStarted, ErrDraining, a *NotReadyError that names the failing checks, or, when ctx
// ended before the checks had answered, ctx's cause; the run goes on for others then.
//
// A result younger than HealthConfig.CacheInterval is returned without running anything
// and without an allocation. An ended ctx does not keep a cached result from its caller.
func (h *Health) Ready(ctx context.Context) error {
	result, err := h.result(ctx)
	if err != nil {
		return err
	}
	return result.err
}

// result carries a caller whose life ended on to the next one, so that no result of an
// ended life is ever read.
func (h *Health) result(ctx context.Context) (*readinessResult, error) {
	for {
		result, err := h.life.Load().result(ctx)
		if !errors.Is(err, errLifeEnded) {
			return result, err
		}
	}
}

// NotReadyError says which checks fail. Its text is for the operator and never reaches an
// HTTP or gRPC answer.
type NotReadyError struct {
	Failing []FailingCheck // in the order of HealthConfig.Checks
}

// FailingCheck is one failed check and what it said, cut to a bounded length.
type FailingCheck struct {
	Name   string
	Reason string
}

func (e *NotReadyError) Error() string {
	var text strings.Builder
	text.WriteString("not ready")
	for i, f := range e.Failing {
		text.WriteString([]string{": ", "; "}[min(i, 1)])
		text.WriteString(f.Name + ": " + f.Reason)
	}
	return text.String()
}
