package idle_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// field case 18, field case 19, field case 23
func TestLoop_manyRequestsWhileAsleep_wakeOnceAndAreAnswered(t *testing.T) {
	for _, n := range []int{1, 500, 10_000} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, policy(), 0)
			var clients sync.WaitGroup
			for range n {
				clients.Go(func() {
					if err := w.request(t.Context(), time.Millisecond); err != nil {
						t.Error(err)
					}
				})
			}
			clients.Wait()
			if wakes := w.wakes.Load(); wakes != 1 {
				t.Errorf("%d requests: %d wakes, want 1", n, wakes)
			}
			w.state(idle.Ready)
			w.stop()
		})
	}
}

// TestLoop_wake_isRecordedByPhases: nothing waits for more than the application needs.
// field case 22, field case 32
func TestLoop_wake_isRecordedByPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 0)
		start := time.Now()
		if err := w.request(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wake := w.group.Status().LastWake
		if wake == nil || wake.Cause != "request" || wake.Err != "" {
			t.Fatalf("last wake is %+v", wake)
		}
		if placed := wake.Placed.Sub(start); placed != w.call {
			t.Errorf("placed after %s, want %s", placed, w.call)
		}
		if ready := wake.Ready.Sub(start); ready > w.call+w.boot+30*time.Millisecond {
			t.Errorf("ready after %s, the application listened after %s", ready, w.call+w.boot)
		}
		if wake.Booted.Before(wake.Placed) || wake.Ready.Before(wake.Booted) {
			t.Errorf("phases are out of order: %+v", wake)
		}
		w.stop()
	})
}

func TestLoop_clientLeaves_cancelsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 0)
		leaver, leave := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errReset)
		defer leave()
		stays := make(chan error, 1)
		go func() {
			time.Sleep(time.Millisecond)
			stays <- w.request(t.Context(), time.Second)
		}()
		err := w.request(leaver, time.Second)
		if _, ok := errors.AsType[*healthgate.WaitError](err); !ok || !errors.Is(err, errReset) {
			t.Errorf("the client that left got %v", err)
		}
		if n := w.group.Status().InFlight; n != 1 {
			t.Errorf("%d in flight after one of two left, want 1", n)
		}
		if err := <-stays; err != nil {
			t.Error(err)
		}
		if n := w.wakes.Load(); n != 1 {
			t.Errorf("%d wakes, want 1", n)
		}
		w.stop()
	})
}

// field case 9, field case 18, field case 24
func TestLoop_wakeFails_isCachedWithBackoffAndReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 0)
		w.fail(errors.New("no node has enough memory"), nil)
		for n, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			failed := w.requestFails(want * time.Second)
			again := w.requestFails(failed.RetryAfter)
			if again.Reason != "no node has enough memory" {
				t.Errorf("reason is %q", again.Reason)
			}
			if got := int(w.wakes.Load()); got != n+1 {
				t.Errorf("%d wakes after %d failures", got, n+1)
			}
			time.Sleep(failed.RetryAfter)
		}
		w.fail(nil, nil)
		if err := w.request(t.Context(), 0); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if s := w.group.Status(); s.Err != "" || s.State != idle.Ready {
			t.Errorf("after success: %s, err %q", s.State, s.Err)
		}
		w.stop()
	})
}

// requestFails expects a request to be refused for the given time.
func (w *world) requestFails(retryAfter time.Duration) *idle.FailedError {
	w.t.Helper()
	err := w.request(w.t.Context(), 0)
	failed, ok := errors.AsType[*idle.FailedError](err)
	if !ok {
		w.t.Fatalf("request got %v, want a failure", err)
	}
	if failed.RetryAfter != retryAfter {
		w.t.Errorf("retry after %s, want %s", failed.RetryAfter, retryAfter)
	}
	return failed
}

func TestLoop_wakeCommandWhileFailureIsCached_triesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 0)
		w.fail(errRefused, nil)
		w.requestFails(time.Second)
		w.fail(nil, nil)
		if err := w.group.Wake(t.Context(), "command: alice"); err != nil {
			t.Fatal(err)
		}
		w.state(idle.Waking)
		if err := w.request(t.Context(), 0); err != nil {
			t.Error(err)
		}
		w.stop()
	})
}

func TestLoop_targetComesUpAfterTheTimeout_makesReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 0)
		w.slow(w.call, 15*time.Second) // the wake timeout is 10 s
		failed := w.requestFails(time.Second)
		if failed.Wake.Placed.IsZero() || !failed.Wake.Ready.IsZero() {
			t.Errorf("wake is %+v", failed.Wake)
		}
		time.Sleep(10 * time.Second)
		w.state(idle.Ready)
		if n := w.wakes.Load(); n != 1 {
			t.Errorf("%d wakes, want 1", n)
		}
		w.stop()
	})
}

func TestLoop_wakeTimesOutFailOpen_admitsUnverified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy()
		p.FailOpen = true
		w := newWorld(t, p, 0)
		w.slow(w.call, time.Hour)
		start := time.Now()
		w.group.Acquire()
		if err := w.group.Await(t.Context(), "request"); err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited != p.WakeTimeout {
			t.Errorf("admitted after %s, want %s", waited, p.WakeTimeout)
		}
		w.group.Release()
		w.state(idle.Ready)
		w.stop()
	})
}

// field case 12: ready, but the application is gone and its target with it.
func TestLoop_targetsLostWhileReady_areWokenByTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 1)
		w.state(idle.Ready)
		w.group.SetTargets(nil)
		time.Sleep(time.Second)
		w.state(idle.Ready)
		if n := w.wakes.Load(); n != 0 {
			t.Errorf("%d wakes while nobody asks, want none", n)
		}
		if err := w.request(t.Context(), 0); err != nil {
			t.Error(err)
		}
		if n := w.wakes.Load(); n != 1 {
			t.Errorf("%d wakes, want 1", n)
		}
		w.stop()
	})
}

// field case 33: what was verified before the sleep says nothing after it.
func TestLoop_wokenAgain_waitsForTheNewTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 1)
		w.state(idle.Ready)
		if err := w.group.Sleep(t.Context(), "command", false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.state(idle.Asleep)
		start := time.Now()
		if err := w.request(t.Context(), 0); err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited < w.call+w.boot {
			t.Errorf("admitted after %s, the application listens after %s", waited, w.call+w.boot)
		}
		w.stop()
	})
}

// field case 10, field case 11, field case 21
func TestLoop_foundAwake_isAdoptedWithAFullIdlePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 2)
		w.state(idle.Ready)
		time.Sleep(59 * time.Second)
		w.state(idle.Ready)
		time.Sleep(2 * time.Second)
		w.state(idle.Asleep)
		if wakes, sleeps := w.wakes.Load(), w.sleeps.Load(); wakes != 0 || sleeps != 1 {
			t.Errorf("%d wakes and %d sleeps, want 0 and 1", wakes, sleeps)
		}
		want := []idle.State{idle.Waking, idle.Ready, idle.Draining, idle.Sleeping, idle.Asleep}
		if got := w.path(); !slices.Equal(got, want) {
			t.Errorf("path is %v, want %v", got, want)
		}
		w.stop()
	})
}

// TestLoop_moreWakesThanAllowed_queue bounds what is asked of Nomad at once.
func TestLoop_moreWakesThanAllowed_queue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd := &crowd{took: 100 * time.Millisecond}
		loop := idle.NewLoop(idle.Config{MaxWakes: 4})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- loop.Run(ctx) }()
		for i := range 20 {
			g := crowd.add(t, loop, i)
			if err := g.Wake(ctx, "command"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(450 * time.Millisecond) // the fifth four are under way
		synctest.Wait()
		if most, all := crowd.most.Load(), crowd.begun.Load(); most != 4 || all != 20 {
			t.Errorf("%d at once, %d begun, want 4 and 20", most, all)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestLoop_queuedWakeIsGivenUp_isNotMade: a place in the queue is given back.
func TestLoop_queuedWakeIsGivenUp_isNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd := &crowd{took: time.Minute} // beyond every deadline
		loop := idle.NewLoop(idle.Config{MaxWakes: 1})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- loop.Run(ctx) }()
		var groups []*idle.Group
		for i := range 3 {
			g := crowd.add(t, loop, i)
			groups = append(groups, g)
			if err := g.Wake(ctx, "command"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(11 * time.Second) // all have timed out
		synctest.Wait()
		if n := crowd.begun.Load(); n != 1 {
			t.Errorf("%d wakes begun, want 1", n)
		}
		for _, g := range groups {
			if s := g.Status(); s.State != idle.Failed {
				t.Errorf("%s is %s, want failed", s.ID, s.State)
			}
		}
		if err := groups[2].Wake(ctx, "command"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := crowd.begun.Load(); n != 2 {
			t.Errorf("%d wakes begun after the place was given back, want 2", n)
		}
		cancel()
		<-done
	})
}
