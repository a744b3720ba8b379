package healthgate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

// outcome runs wait in a goroutine and returns where its error will be.
func outcome(wait func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- wait() }()
	return done
}

func (s *scene) wantWaiting(done <-chan error) {
	s.t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		s.t.Fatalf("released with %v", err)
	default:
	}
}

// field case 33: a waiter from before a sleep is never released by it.
//
// Mutation: have Arm end the waiting room as opened (cancel instead of replace), and this
// fails.
func TestGate_rearmedWhileWaiting_doesNotReleaseOldWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.wake(1, "app:1")
		done := outcome(func() error { return s.Waiter().Wait(t.Context()) })
		s.wantWaiting(done)
		s.Shut()
		s.wantWaiting(done)
		s.Arm(2)
		s.wantWaiting(done)
		s.Update(2, targets("app:2"))
		time.Sleep(5 * time.Second)
		s.wantWaiting(done)
		s.net.answer("app:2")
		start := time.Now()
		if err := <-done; err != nil {
			t.Errorf("carried to the new generation, but got %v", err)
		}
		if took := time.Since(start); took > 500*time.Millisecond {
			t.Errorf("released %s after the target was ready", took)
		}
	})
}

// field case 33: a place taken while the gate stood open is worth nothing after the sleep.
func TestWaiter_openedBeforeTheSleep_waitsForTheNewGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.net.answer("app:1")
		s.Arm(1)
		before := s.Waiter() // its room is the one that generation 1 opens
		s.Update(1, targets("app:1"))
		s.mustWait(time.Second)
		s.net.refuse("app:1")
		s.wake(2, "app:1")
		took, err := wait(before, 5*time.Second)
		if took != 5*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("released after %s with %v", took, err)
		}
	})
}

// field case 24: a wake that cannot succeed is told to who waits, with the reason, at once.
func TestWaiter_failedAfterThePlaceWasTaken_getsTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		first := s.Waiter()
		s.Arm(1)
		reason := errors.New("nothing fits")
		s.Fail(1, reason)
		later := s.Waiter()
		if _, err := wait(first, time.Second); err != reason {
			t.Errorf("got %v", err)
		}
		done := outcome(func() error { return later.Wait(t.Context()) })
		s.wantWaiting(done)
		s.net.answer("app:1") // the gate is as it was: a late target opens it
		s.Update(1, targets("app:1"))
		if err := <-done; err != nil {
			t.Errorf("got %v", err)
		}
		if _, err := wait(first, 0); err != nil {
			t.Errorf("the gate is open, got %v", err)
		}
	})
}

// An outcome is not missed by a waiter that takes its place first and waits later.
func TestWaiter_failedTwoGenerationsLater_isNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		w := s.Waiter()
		s.net.answer("app:1")
		s.wake(1, "app:1")
		s.mustWait(time.Second)
		s.Shut()
		s.Arm(2)
		reason := errors.New("image cannot be pulled")
		s.Fail(2, reason)
		if _, err := wait(w, time.Second); err != reason {
			t.Errorf("got %v", err)
		}
	})
}

func TestWaiter_contextEnds_tellsCauseAndFreesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.Arm(1)
		left := errors.New("client left")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := outcome(func() error { return s.Waiter().Wait(ctx) })
		s.wantWaiting(done)
		cancel(left)
		err := <-done
		we, ok := errors.AsType[*healthgate.WaitError](err)
		if !ok || !errors.Is(err, left) || we.Verdict != healthgate.Unknown || we.Last != "" {
			t.Errorf("got %#v", err)
		}
	})
}

func TestWaiter_manyAtOnce_areAllReleasedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.wake(1, "app:1")
		const n = 10_000
		results := make(chan error, n)
		for range n {
			w := s.Waiter()
			go func() { results <- w.Wait(t.Context()) }()
		}
		synctest.Wait()
		s.net.answer("app:1")
		start := time.Now()
		for range n {
			if err := <-results; err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > 10*time.Millisecond {
			t.Errorf("released over %s", took)
		}
		if d := s.net.dialled("app:1"); d > 3 {
			t.Errorf("%d probes for one target", d)
		}
	})
}

func TestGate_closed_releasesWaitersNowAndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.net.answer("app:1")
		s.wake(1, "app:1")
		s.mustWait(time.Second)
		early := s.Waiter()
		s.Close()
		s.Close()
		s.wake(2, "app:1")
		s.Fail(1, errors.New("too late"))
		for _, err := range []error{
			early.Wait(t.Context()), s.Waiter().Wait(t.Context()), s.WaitGeneration(t.Context(), 1),
		} {
			if err != healthgate.ErrClosed {
				t.Errorf("got %v", err)
			}
		}
		if s.Pick() != nil {
			t.Error("a closed gate admits")
		}
	})
}

func TestGate_waitGeneration_isBoundToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.net.answer("app:1")
		first := outcome(func() error { return s.WaitGeneration(t.Context(), 1) })
		second := outcome(func() error { return s.WaitGeneration(t.Context(), 2) })
		s.wantWaiting(first)
		s.Arm(1)
		s.wantWaiting(first)
		s.wake(2, "app:1")
		if err := <-first; err != healthgate.ErrSuperseded {
			t.Errorf("generation 1: got %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("generation 2: got %v", err)
		}
		if err := s.WaitGeneration(t.Context(), 2); err != nil {
			t.Errorf("while open: got %v", err)
		}
		s.Shut()
		if err := s.WaitGeneration(t.Context(), 2); err != healthgate.ErrSuperseded {
			t.Errorf("after Shut: got %v", err)
		}
		third := outcome(func() error { return s.WaitGeneration(t.Context(), 3) })
		s.wantWaiting(third)
		s.Arm(3)
		s.Fail(3, context.DeadlineExceeded)
		if err := <-third; err != context.DeadlineExceeded {
			t.Errorf("generation 3: got %v", err)
		}
	})
}
