package idle_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"doze/idle"
)

// TestLoop_requestAtEveryInstantOfFallingAsleep_isAnswered sends one request at every step of
// the way down, in a world of its own each time. The application must not go while it
// serves it.
// field case 17
func TestLoop_requestAtEveryInstantOfFallingAsleep_isAnswered(t *testing.T) {
	const step = 250 * time.Microsecond
	for _, delay := range []time.Duration{0, 3 * time.Millisecond} {
		p := policy()
		p.DrainDelay = delay
		for at := -time.Millisecond; at < delay+12*time.Millisecond; at += step {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, p, 1)
				w.state(idle.Ready)
				time.Sleep(time.Until(w.group.Status().SleepsAt) + at)
				if err := w.request(t.Context(), 20*time.Millisecond); err != nil {
					t.Errorf("drain delay %s, request %s after the idle deadline: %v", delay, at, err)
				}
				if n := w.killed.Load(); n > 0 {
					t.Errorf("drain delay %s, request %s after the idle deadline was cut", delay, at)
				}
				w.state(idle.Ready)
				w.stop()
			})
		}
	}
}

// field case 1, field case 2: in flight until its end, however silent; the idle clock starts there.
func TestLoop_requestOutlivesIdleAfter_keepsAwakeAndStampsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 1)
		w.state(idle.Ready)
		if err := w.request(t.Context(), 10*time.Minute); err != nil {
			t.Error(err)
		}
		end := time.Now()
		if at := w.group.Status().SleepsAt; !at.Equal(end.Add(time.Minute)) {
			t.Errorf("sleeps at %s after the end of the request", at.Sub(end))
		}
		time.Sleep(59 * time.Second)
		w.state(idle.Ready)
		time.Sleep(1100 * time.Millisecond)
		w.state(idle.Asleep)
		w.stop()
	})
}

func TestLoop_sleepFails_leavesReadyForAFullIdlePeriod(t *testing.T) {
	for _, c := range []struct {
		err   error
		again time.Duration
	}{
		{errRefused, time.Minute},
		{&idle.NotNowError{Reason: "active deployment", After: 7 * time.Second}, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, policy(), 1)
			w.fail(nil, c.err)
			time.Sleep(time.Minute + 20*time.Millisecond)
			w.state(idle.Ready)
			if n := w.sleeps.Load(); n != 1 {
				t.Fatalf("%d sleeps, want 1", n)
			}
			if err := w.request(t.Context(), 0); err != nil {
				t.Errorf("after the failed sleep: %v", err)
			}
			s := w.group.Status()
			if s.Err == "" || s.SleepsAt.Sub(s.Since) > time.Minute+time.Second {
				t.Errorf("err %q, sleeps after %s", s.Err, s.SleepsAt.Sub(s.Since))
			}
			time.Sleep(c.again - time.Second)
			if n := w.sleeps.Load(); n != 1 {
				t.Errorf("%d sleeps before the time, want 1", n)
			}
			w.fail(nil, nil)
			time.Sleep(time.Minute)
			w.state(idle.Asleep)
			w.stop()
		})
	}
}

// field case 20: nothing that Nomad does or does not answer touches an awake group.
func TestLoop_workloadCannotBeAsked_awakeGroupServesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 1)
		w.fail(errRefused, errRefused)
		for range 40 {
			if err := w.request(t.Context(), time.Second); err != nil {
				t.Error(err)
			}
			time.Sleep(7 * time.Second)
		}
		time.Sleep(time.Minute) // a sleep is tried, and fails; at that moment:
		if err := w.request(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
		w.stop()
	})
}

func TestLoop_scaledToZeroByHand_isHealedByTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 1)
		w.state(idle.Ready)
		w.up.Store(false)
		w.group.Observe(idle.Observation{Count: 0, Cause: "scaled by hand"})
		w.state(idle.Asleep)
		if n := w.sleeps.Load(); n != 0 {
			t.Errorf("%d sleeps asked for, want none", n)
		}
		if err := w.request(t.Context(), 0); err != nil {
			t.Error(err)
		}
		w.stop()
	})
}

func TestLoop_sleepCallHangs_isGivenUpAndTheHeldRequestServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy()
		w := newWorld(t, p, 1)
		w.slow(time.Hour, 0)
		w.state(idle.Ready)
		time.Sleep(time.Minute + time.Second)
		w.state(idle.Sleeping)
		start := time.Now()
		if err := w.request(t.Context(), 0); err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited > p.WakeTimeout {
			t.Errorf("held for %s", waited)
		}
		w.stop()
	})
}

// TestLoop_activityUnknown_neverMeansIdle uses an extra source, as a driver's task does.
func TestLoop_activityUnknown_neverMeansIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, loop: idle.NewLoop(idle.Config{}), done: make(chan error, 1)}
		var known atomic.Bool
		var inFlight atomic.Int64
		g, err := w.loop.Add(idle.GroupConfig{
			ID: idle.GroupID{Job: "task"}, Policy: policy(), Workload: w,
			Observed: idle.Observation{Count: 1, Cause: "found at start"},
			Gate:     gateConfig(w),
			Activity: func() (int64, time.Time, bool) { return inFlight.Load(), time.Time{}, known.Load() },
		})
		if err != nil {
			t.Fatal(err)
		}
		w.group = g
		w.up.Store(true)
		g.SetTargets(target())
		w.run()
		time.Sleep(10 * time.Minute)
		w.state(idle.Ready)
		known.Store(true)
		inFlight.Store(1)
		time.Sleep(10 * time.Minute)
		w.state(idle.Ready)
		inFlight.Store(0)
		time.Sleep(2*time.Minute + time.Second)
		w.state(idle.Asleep)
		w.stop()
	})
}

func TestLoop_rungs_goDownStepByStepAndByCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idle.Policy{WakeTimeout: 10 * time.Second, Rungs: []idle.Rung{
			{Depth: idle.Freeze, After: 30 * time.Second}, {Depth: idle.Park, After: time.Hour},
		}}
		w := newWorld(t, p, 1)
		asleepAt := func(want idle.Depth) {
			t.Helper()
			w.state(idle.Asleep)
			if got := w.group.Status().Depth; got != want {
				t.Errorf("depth is %s, want %s", got, want)
			}
		}
		time.Sleep(31 * time.Second)
		asleepAt(idle.Freeze)
		time.Sleep(time.Hour)
		asleepAt(idle.Park)
		if err := w.request(t.Context(), 0); err != nil {
			t.Error(err)
		}
		time.Sleep(31 * time.Second)
		if err := w.group.Deepen(t.Context(), idle.Park, "memory"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		asleepAt(idle.Park)
		if err := w.group.Deepen(t.Context(), idle.Freeze, "memory"); err != nil {
			t.Error(err)
		}
		asleepAt(idle.Park)
		w.stop()
	})
}

func TestLoop_policyChanged_appliesFromThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 1)
		time.Sleep(30 * time.Second)
		if err := w.group.SetPolicy(idle.Policy{WakeTimeout: time.Second}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		w.state(idle.Ready)
		if err := w.group.SetPolicy(policy()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.state(idle.Asleep)
		if err := w.group.SetPolicy(idle.Policy{}); err == nil {
			t.Error("a policy without a wake timeout was taken")
		}
		w.stop()
	})
}

// TestLoop_endsInAnyState ends the loop in every state. The bubble fails when a goroutine
// stays behind; whoever waits gets ErrGone.
func TestLoop_endsInAnyState_leavesNobodyBehind(t *testing.T) {
	for _, state := range idle.States() {
		synctest.Test(t, func(t *testing.T) {
			w := worldIn(t, state)
			got := make(chan error, 1)
			if state == idle.Waking || state == idle.Sleeping {
				go func() { got <- w.request(context.Background(), 0) }()
				synctest.Wait()
			} else {
				got <- idle.ErrGone
			}
			w.stop()
			if err := <-got; !errors.Is(err, idle.ErrGone) {
				t.Errorf("%s: the held request got %v", state, err)
			}
			if err := w.group.Wake(t.Context(), "late"); !errors.Is(err, idle.ErrGone) {
				t.Errorf("%s: a command after the end got %v", state, err)
			}
			if err := w.request(t.Context(), 0); !errors.Is(err, idle.ErrGone) {
				t.Errorf("%s: a request after the end got %v", state, err)
			}
		})
	}
}

// TestLoop_removedInAnyState tells the workload nothing and lets everybody go.
func TestLoop_removedInAnyState_tellsTheWorkloadNothing(t *testing.T) {
	for _, state := range idle.States() {
		synctest.Test(t, func(t *testing.T) {
			w := worldIn(t, state)
			calls := w.wakes.Load() + w.sleeps.Load()
			got := make(chan error, 1)
			if state == idle.Waking || state == idle.Sleeping {
				go func() { got <- w.request(t.Context(), 0) }()
				synctest.Wait()
			} else {
				got <- idle.ErrGone
			}
			w.loop.Remove(w.group.ID())
			if err := <-got; !errors.Is(err, idle.ErrGone) {
				t.Errorf("%s: the held request got %v", state, err)
			}
			if err := w.group.Wake(t.Context(), "late"); !errors.Is(err, idle.ErrGone) {
				t.Errorf("%s: a command after the removal got %v", state, err)
			}
			time.Sleep(time.Hour)
			if n := w.wakes.Load() + w.sleeps.Load(); n != calls {
				t.Errorf("%s: %d calls after the removal", state, n-calls)
			}
			if w.loop.Group(w.group.ID()) != nil || len(w.loop.Groups()) != 0 {
				t.Errorf("%s: still managed", state)
			}
			w.stop()
		})
	}
}

// worldIn returns a world whose group is in the given state.
func worldIn(t *testing.T, state idle.State) *world {
	p := policy()
	p.DrainDelay = 5 * time.Second
	observed := 1
	if slices.Contains([]idle.State{idle.Asleep, idle.Waking, idle.Failed}, state) {
		observed = 0
	}
	w := newWorld(t, p, observed)
	w.slow(time.Second, time.Second)
	synctest.Wait()
	switch state {
	case idle.Waking:
		if err := w.group.Wake(t.Context(), "command"); err != nil {
			t.Fatal(err)
		}
	case idle.Failed:
		w.fail(errRefused, nil)
		w.requestFails(time.Second)
	case idle.Draining:
		time.Sleep(time.Minute + time.Second)
	case idle.Sleeping:
		time.Sleep(time.Minute + 5*time.Second + 100*time.Millisecond)
	}
	w.state(state)
	return w
}
