package healthgate

import (
	"context"
	"errors"
	"sync"
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
	recent   atomic.Pointer[readinessResult] // nil: no result yet

	mu  sync.Mutex
	run *readinessRun // under way; nil: none
}

// readinessRun is one run of all checks, shared by everybody who asks meanwhile.
type readinessRun struct {
	done   chan struct{}
	result *readinessResult // read after done only
}

// readinessResult is the outcome of a run, immutable.
type readinessResult struct {
	err     error     // nil: ready
	until   time.Time // may be reused before (past: not at all); zero: for the whole life
	answers healthAnswers
}

func newReadiness(cfg HealthConfig, checks []*checker) *readiness {
	r := &readiness{checks: checks, interval: cfg.CacheInterval, report: cfg.ReportChecks}
	r.ctx, r.end = context.WithCancel(context.Background())
	if len(checks) == 0 {
		r.recent.Store(&readinessResult{answers: newHealthAnswers(true, nil)})
	}
	return r
}

// newFixedReadiness is a life that is never ready, for the reason given.
func newFixedReadiness(why error) *readiness {
	r := &readiness{}
	r.ctx, r.end = context.WithCancel(context.Background())
	r.recent.Store(&readinessResult{err: why, answers: newHealthAnswers(false, nil)})
	return r
}

// result returns a recent result or waits for one. Its error is errLifeEnded or the cause
// of ctx's end.
func (r *readiness) result(ctx context.Context) (*readinessResult, error) {
	if recent := r.reusable(); recent != nil {
		return recent, nil
	}
	run, recent := r.join()
	if recent != nil {
		return recent, nil
	}
	select {
	case <-run.done:
		if r.ctx.Err() != nil {
			return nil, errLifeEnded
		}
		return run.result, nil
	case <-r.ctx.Done():
		return nil, errLifeEnded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (r *readiness) reusable() *readinessResult {
	recent := r.recent.Load()
	if recent == nil || !recent.until.IsZero() && !time.Now().Before(recent.until) {
		return nil
	}
	return recent
}

// join returns the run under way, or begins one, unless a run has ended since the caller
// looked: then it returns that one's result.
func (r *readiness) join() (*readinessRun, *readinessResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if recent := r.reusable(); recent != nil {
		return nil, recent
	}
	if r.run == nil {
		r.run = &readinessRun{done: make(chan struct{})}
		go r.execute(r.run) // one a life; ends with the last check's timeout or the life
	}
	return r.run, nil
}

func (r *readiness) execute(run *readinessRun) {
	reasons := r.ask()
	if r.ctx.Err() == nil {
		for i, c := range r.checks {
			c.note(reasons[i])
		}
	}
	run.result = r.conclude(reasons)

	r.mu.Lock()
	r.recent.Store(run.result)
	r.run = nil
	r.mu.Unlock()
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
