package healthgate

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// errLifeEnded says that a life ended before its run did; the caller asks the next life.
var errLifeEnded = errors.New("the life ended")

// readiness is what one life of the process (from Start to Drain) knows of its checks. It
// is replaced at every Start and Drain, so that nothing of an earlier life can be read.
type readiness struct {
	checks   []*checker
	interval time.Duration
	report   bool
	ctx      context.Context // ends with the life
	end      context.CancelFunc
	run      atomic.Pointer[readinessRun] // the last one begun; nil: none yet
}

// readinessRun is one run of all checks, shared by everybody who asks while it is under
// way or while its result is fresh.
type readinessRun struct {
	done   chan struct{}                   // closed when there is a result
	result atomic.Pointer[readinessResult] // nil: under way, or the life ended before
}

// readinessResult is the outcome of a run, immutable.
type readinessResult struct {
	err     error     // nil: ready
	until   time.Time // fresh before; zero: for the whole life
	answers healthAnswers
}

func newReadiness(cfg HealthConfig, checks []*checker) *readiness {
	r := &readiness{checks: checks, interval: cfg.CacheInterval, report: cfg.ReportChecks}
	r.ctx, r.end = context.WithCancel(context.Background())
	if len(checks) == 0 {
		r.fix(&readinessResult{answers: newHealthAnswers(true, nil)})
	}
	return r
}

// newFixedReadiness is a life that is never ready, for the reason given.
func newFixedReadiness(why error) *readiness {
	r := &readiness{}
	r.ctx, r.end = context.WithCancel(context.Background())
	r.fix(&readinessResult{err: why, answers: newHealthAnswers(false, nil)})
	return r
}

func (r *readiness) fix(result *readinessResult) {
	run := &readinessRun{}
	run.result.Store(result)
	r.run.Store(run)
}

// result returns a fresh result or waits for one. Its error is errLifeEnded or the cause
// of ctx's end.
func (r *readiness) result(ctx context.Context) (*readinessResult, error) {
	run := r.shared()
	if result := run.result.Load(); result != nil {
		return result, nil
	}
	select {
	case <-run.done:
		return run.result.Load(), nil
	case <-r.ctx.Done():
		return nil, errLifeEnded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// shared returns the last run, or a new one if its result is no longer fresh. The swap
// lets exactly one of those who saw that begin it.
func (r *readiness) shared() *readinessRun {
	for {
		last := r.run.Load()
		if last != nil && last.usable() {
			return last
		}
		next := &readinessRun{done: make(chan struct{})}
		if r.run.CompareAndSwap(last, next) {
			go r.execute(next) // one a life; ends with the last check's timeout or the life
			return next
		}
	}
}

func (r *readinessRun) usable() bool {
	result := r.result.Load()
	return result == nil || result.until.IsZero() || time.Now().Before(result.until)
}

// execute publishes nothing once the life has ended: then its checks were cut short, and
// whoever waits asks the next life.
func (r *readiness) execute(run *readinessRun) {
	reasons := r.ask()
	if r.ctx.Err() != nil {
		return
	}
	for i, c := range r.checks {
		c.note(reasons[i])
	}
	run.result.Store(r.conclude(reasons))
	close(run.done)
}

// ask runs all checks at once and returns why each fails, "" for one that passed. It takes
// as long as the slowest check, not as the sum.
func (r *readiness) ask() []string {
	for _, c := range r.checks {
		c.settle(r.ctx)
	}
	calls := make([]*checkCall, len(r.checks))
	for i, c := range r.checks {
		calls[i] = c.begin(r.ctx)
	}
	reasons := make([]string, len(calls))
	for i, call := range calls {
		reasons[i] = call.wait()
	}
	return reasons
}

func (r *readiness) conclude(reasons []string) *readinessResult {
	result := &readinessResult{until: time.Now().Add(r.interval)}
	var failing []FailingCheck
	var states []checkState
	for i, c := range r.checks {
		if reasons[i] != "" {
			failing = append(failing, FailingCheck{Name: c.Name, Reason: reasons[i]})
		}
		if r.report {
			states = append(states, checkState{name: c.Name, passes: reasons[i] == ""})
		}
	}
	if failing != nil {
		result.err = &NotReadyError{Failing: failing}
	}
	result.answers = newHealthAnswers(failing == nil, states)
	return result
}
