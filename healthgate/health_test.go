package healthgate_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

// Readiness comes and goes with start and drain; liveness does not (field case 27).
func TestHealth_lifecycle_readinessFollowsLivenessStays(t *testing.T) {
	h, err := healthgate.NewHealth(healthgate.HealthConfig{Enabled: true})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when string, status int, want error) {
		t.Helper()
		if got := h.Ready(t.Context()); !errors.Is(got, want) {
			t.Errorf("%s: Ready: %v, want %v", when, got, want)
		}
		if w := askHealth(h, "GET", "/readyz"); w.Code != status {
			t.Errorf("%s: readiness %d, want %d", when, w.Code, status)
		}
		if w := askHealth(h, "GET", "/livez"); w.Code != 200 {
			t.Errorf("%s: liveness %d", when, w.Code)
		}
	}
	expect("before start", 503, healthgate.ErrNotStarted)
	h.Start()
	expect("started", 200, nil)
	h.Drain()
	expect("draining", 503, healthgate.ErrDraining)
	h.Start()
	expect("started again", 200, nil)
}

// A second life begins unready, whatever the first one had found (field case 27).
// Mutation: keep the result of the life before at Start: the second life is ready at once.
func TestHealth_restart_forgetsCachedResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var state error
		h := startedHealth(t, healthgate.HealthConfig{
			CacheInterval: time.Hour,
			Checks: []healthgate.Check{
				{Name: "db", Check: func(context.Context) error { return state }},
			},
		})
		if err := h.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		state = errors.New("gone")
		h.Drain()
		h.Start()
		expectUnready(t, h)
		state = nil
		h.Start() // a thaw: nobody drained
		if err := h.Ready(t.Context()); err != nil {
			t.Errorf("after the thaw: %v", err)
		}
		state = errors.New("gone")
		h.Start()
		expectUnready(t, h)
	})
}

func TestHealth_drainDuringRun_releasesWaitersUnready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		h := startedHealth(t, healthgate.HealthConfig{
			Checks: []healthgate.Check{countedCheck("db", 500*time.Millisecond, &runs)},
		})
		began := time.Now()
		time.AfterFunc(100*time.Millisecond, h.Drain)
		err := h.Ready(t.Context())
		if !errors.Is(err, healthgate.ErrDraining) || time.Since(began) != 100*time.Millisecond {
			t.Errorf("Ready: %v after %v", err, time.Since(began))
		}
		time.Sleep(time.Second)
		if err := h.Ready(t.Context()); !errors.Is(err, healthgate.ErrDraining) {
			t.Errorf("after the run's end: %v", err)
		}
	})
}

// A waiter from before a restart is carried over: the run of the life before, which would
// have said "ready", does not release it.
// Mutation: don't settle: the first run's call is taken for one that hangs.
func TestHealth_restartDuringRun_waiterGetsTheNewRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		h := startedHealth(t, healthgate.HealthConfig{Checks: []healthgate.Check{{
			Name: "db", Check: func(context.Context) error {
				time.Sleep(500 * time.Millisecond)
				if runs.Add(1) == 1 {
					return nil
				}
				return errors.New("changed meanwhile")
			},
		}}})
		began := time.Now()
		time.AfterFunc(100*time.Millisecond, h.Start)
		expectUnready(t, h)
		// The check ignores its context, so the second run begins when the first has ended.
		if took := time.Since(began); took != time.Second || runs.Load() != 2 {
			t.Errorf("took %v and %d runs, want 1s and 2", took, runs.Load())
		}
	})
}

func TestHealth_restartWhileCheckHangs_doesNotStartItTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var runs atomic.Int64
		h := startedHealth(t, healthgate.HealthConfig{
			CacheInterval: -1, Checks: []healthgate.Check{hungCheck(release, &runs)},
		})
		began := time.Now()
		time.AfterFunc(100*time.Millisecond, h.Start)
		expectUnready(t, h)
		if took := time.Since(began); took != time.Second {
			t.Errorf("answered after %v, want the first call's timeout", took)
		}
		expectUnready(t, h)
		if runs.Load() != 1 {
			t.Errorf("started %d times while it hung", runs.Load())
		}
		close(release)
	})
}

// Mutation: publish and log a run although its life has ended.
func TestHealth_drain_endsTheChecksContextsAndBlamesNoCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		ended := make(chan struct{})
		h := startedHealth(t, healthgate.HealthConfig{
			Log: slog.New(slog.NewTextHandler(&log, nil)),
			Checks: []healthgate.Check{{Name: "db", Check: func(ctx context.Context) error {
				<-ctx.Done()
				close(ended)
				return ctx.Err()
			}}},
		})
		began := time.Now()
		var asked sync.WaitGroup
		asked.Go(func() { _ = h.Ready(t.Context()) })
		synctest.Wait()
		h.Drain()
		<-ended
		asked.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("the check was left running for %v", took)
		}
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("logged %s", log.String())
		}
	})
}

func TestHealth_changed_isClosedAtStartAndDrain(t *testing.T) {
	h, err := healthgate.NewHealth(healthgate.HealthConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){"start": h.Start, "drain": h.Drain} {
		changed := h.Changed()
		select {
		case <-changed:
			t.Errorf("closed before %s", name)
		default:
		}
		change()
		select {
		case <-changed:
		default:
			t.Errorf("not closed by %s", name)
		}
	}
}

func TestHealth_readyWithEndedContext_returnsItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		h := startedHealth(t, healthgate.HealthConfig{
			Checks: []healthgate.Check{countedCheck("db", 10*time.Millisecond, &runs)},
		})
		left := errors.New("client left")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(left)
		if err := h.Ready(ctx); !errors.Is(err, left) {
			t.Errorf("Ready: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
		if err := h.Ready(ctx); err != nil {
			t.Errorf("a cached result was kept from the caller: %v", err)
		}
	})
}
