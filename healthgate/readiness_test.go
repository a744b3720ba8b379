package healthgate_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

// countedCheck takes the given time and counts its runs.
func countedCheck(name string, takes time.Duration, runs *atomic.Int64) healthgate.Check {
	return healthgate.Check{Name: name, Check: func(context.Context) error {
		runs.Add(1)
		time.Sleep(takes)
		return nil
	}}
}

// hungCheck ignores its context until release is closed.
func hungCheck(release <-chan struct{}, runs *atomic.Int64) healthgate.Check {
	return healthgate.Check{Name: "hung", Check: func(context.Context) error {
		runs.Add(1)
		<-release
		return nil
	}}
}

// Many ask for readiness at once (field case 36).
// Mutation: take a run under way for unusable: a check runs more than once.
func TestReadiness_3000AtOnce_runEachCheckOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var db, cache atomic.Int64
		h := startedHealth(t, healthgate.HealthConfig{Checks: []healthgate.Check{
			countedCheck("db", 300*time.Millisecond, &db),
			countedCheck("cache", 200*time.Millisecond, &cache),
		}})
		began := time.Now()
		var ok atomic.Int64
		var all sync.WaitGroup
		for i := range 3000 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Microsecond) // some join, some find it done
				if askHealth(h, "GET", "/readyz").Code == 200 {
					ok.Add(1)
				}
			})
		}
		all.Wait()
		if ok.Load() != 3000 || db.Load() != 1 || cache.Load() != 1 {
			t.Errorf("%d of 3000 ok; db ran %d, cache %d times", ok.Load(), db.Load(), cache.Load())
		}
		if took := time.Since(began); took != 300*time.Millisecond {
			t.Errorf("took %v: not the slowest check's 300ms", took)
		}
	})
}

func TestReadiness_cacheInterval_countsFromTheRunsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		h := startedHealth(t, healthgate.HealthConfig{
			CacheInterval: 2 * time.Second,
			Checks:        []healthgate.Check{countedCheck("db", 500*time.Millisecond, &runs)},
		})
		for _, step := range []struct {
			sleep time.Duration
			runs  int64
		}{{0, 1}, {1999 * time.Millisecond, 1}, {time.Millisecond, 2}, {0, 2}} {
			time.Sleep(step.sleep)
			if err := h.Ready(t.Context()); err != nil || runs.Load() != step.runs {
				t.Errorf("after %v: %v, %d runs, want %d", step.sleep, err, runs.Load(), step.runs)
			}
		}
	})
}

func TestReadiness_negativeInterval_sharesRunsButKeepsNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		h := startedHealth(t, healthgate.HealthConfig{
			CacheInterval: -1,
			Checks:        []healthgate.Check{countedCheck("db", 100*time.Millisecond, &runs)},
		})
		for want := int64(1); want <= 3; want++ {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if err := h.Ready(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if runs.Load() != want {
				t.Errorf("%d runs after %d groups of 50", runs.Load(), want)
			}
		}
	})
}

// Many ask for readiness while a check never ends (field case 36).
// Mutation: let begin start a check although its last call has not ended: runs and
// goroutines pile up here.
func TestReadiness_floodAgainstHungCheck_costsOneGoroutine(t *testing.T) {
	for name, flood := range map[string]struct {
		interval time.Duration
		rate     int // a second, for a minute
	}{"cached": {0, 10_000}, "uncached": {-1, 1_000}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { floodHungCheck(t, flood.interval, flood.rate) })
		})
	}
}

func floodHungCheck(t *testing.T, interval time.Duration, rate int) {
	release := make(chan struct{})
	defer close(release)
	var runs atomic.Int64
	h := startedHealth(t, healthgate.HealthConfig{
		CacheInterval: interval, Checks: []healthgate.Check{hungCheck(release, &runs)},
	})
	var all sync.WaitGroup
	for range rate { // the first second: all wait for the one run
		all.Go(func() { expectUnready(t, h) })
	}
	all.Wait()
	heap := liveHeap()
	for range 59 * 100 {
		time.Sleep(10 * time.Millisecond)
		began := time.Now()
		for range rate / 100 {
			expectUnready(t, h)
		}
		if waited := time.Since(began); waited != 0 {
			t.Fatalf("a probe waited %v for a check that is known to hang", waited)
		}
	}
	synctest.Wait()
	if runs.Load() != 1 {
		t.Errorf("the check was started %d times", runs.Load())
	}
	if n := healthGoroutines(); n != 1 {
		t.Errorf("%d goroutines, want the hung one", n)
	}
	if grown := int64(liveHeap()) - int64(heap); grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

// healthGoroutines counts the goroutines that a Health has begun.
func healthGoroutines() int {
	stacks := make([]byte, 1<<24)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "created by doze/healthgate.(*checker)") ||
			strings.Contains(stack, "created by doze/healthgate.(*readiness)") {
			n++
		}
	}
	return n
}

func expectUnready(t *testing.T, h *healthgate.Health) {
	var failing *healthgate.NotReadyError
	if err := h.Ready(context.Background()); !errors.As(err, &failing) {
		t.Errorf("Ready: %v", err)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestReadiness_hungCheckReturns_isStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var runs atomic.Int64
		h := startedHealth(t, healthgate.HealthConfig{
			Checks: []healthgate.Check{hungCheck(release, &runs)},
		})
		began := time.Now()
		expectUnready(t, h)
		if took := time.Since(began); took != time.Second {
			t.Errorf("answered after %v, want the check's timeout", took)
		}
		close(release)
		time.Sleep(time.Second)
		if err := h.Ready(t.Context()); err != nil || runs.Load() != 2 {
			t.Errorf("Ready: %v after %d runs", err, runs.Load())
		}
	})
}

func TestReadiness_ownTimeouts_slowestDecidesTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		var runs atomic.Int64
		quick, slow := hungCheck(release, &runs), countedCheck("slow", 2*time.Second, &runs)
		quick.Timeout, slow.Timeout = 200*time.Millisecond, 3*time.Second
		h := startedHealth(t, healthgate.HealthConfig{Checks: []healthgate.Check{slow, quick}})
		began := time.Now()
		err := h.Ready(t.Context())
		var failing *healthgate.NotReadyError
		if !errors.As(err, &failing) || len(failing.Failing) != 1 {
			t.Fatalf("Ready: %v", err)
		}
		want := healthgate.FailingCheck{Name: "hung", Reason: "no answer within 200ms"}
		if failing.Failing[0] != want || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", failing.Failing, time.Since(began))
		}
	})
}

// The cached path is one atomic load and one reading of the clock.
func TestReadiness_cached_allocatesNothing(t *testing.T) {
	h := startedHealth(t, healthgate.HealthConfig{
		CacheInterval: time.Hour, Checks: []healthgate.Check{{Name: "db", Check: fails}},
	})
	expectUnready(t, h)
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() { _ = h.Ready(ctx) }); n != 0 {
		t.Errorf("Ready: %v allocations", n)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest("HEAD", "/readyz", nil)
	if n := testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }); n != 0 {
		t.Errorf("ServeHTTP with a used header map: %v allocations", n)
	}
}
