package healthgate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

// scene is a gate over a network of pipes, with what it called back.
type scene struct {
	*healthgate.Gate
	t        *testing.T
	net      *network
	counters healthgate.Counters

	mu    sync.Mutex
	calls []string
	gone  []*healthgate.Member
}

func newScene(t *testing.T, cfg healthgate.GateConfig) *scene {
	t.Helper()
	s := &scene{t: t, net: newNetwork(t)}
	cfg.Probe.Dial = s.net.dial
	cfg.Counters = &s.counters
	cfg.OnBooted = s.note("booted")
	cfg.OnReady = s.note("ready")
	cfg.OnLost = s.note("lost")
	cfg.OnGone = func(m *healthgate.Member) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gone = append(s.gone, m)
	}
	g, err := healthgate.NewGate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Gate = g
	t.Cleanup(g.Close)
	return s
}

func (s *scene) note(what string) func(healthgate.Generation) {
	return func(gen healthgate.Generation) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = append(s.calls, fmt.Sprintf("%s %d", what, gen))
	}
}

// wantCalls waits until all is quiet and compares what was called back so far.
func (s *scene) wantCalls(want ...string) {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.calls, want) {
		s.t.Errorf("called back %q, want %q", s.calls, want)
	}
}

func (s *scene) wake(gen healthgate.Generation, addrs ...string) {
	s.Arm(gen)
	s.Update(gen, targets(addrs...))
}

func targets(addrs ...string) []healthgate.Target {
	var all []healthgate.Target
	for _, a := range addrs {
		all = append(all, healthgate.Target{ID: "id-" + a, Addr: a})
	}
	return all
}

// wait waits for at most d and returns the outcome and how long it took.
func wait(w healthgate.Waiter, d time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	start := time.Now()
	err := w.Wait(ctx)
	return time.Since(start), err
}

func (s *scene) mustWait(d time.Duration) {
	s.t.Helper()
	if _, err := wait(s.Waiter(), d); err != nil {
		s.t.Fatalf("gate did not open: %v", err)
	}
}

// field case 33: a wait for health answered "ready" at once for a target that had not
// started, because the wait from before the sleep had already succeeded.
//
// Mutation: have Arm keep the admitted snapshot (drop the re-arm), and this fails at once.
func TestGate_armedAgain_isShutUntilTheNewTargetAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.net.answer("app:1")
		s.wake(1, "app:1")
		s.mustWait(time.Second)

		s.net.refuse("app:1")
		s.Shut()
		s.wake(2, "app:1")
		if m := s.Pick(); m != nil {
			t.Fatalf("picked %v of a target that has not started", m.Target)
		}
		time.AfterFunc(3*time.Second, func() { s.net.answer("app:1") })
		took, err := wait(s.Waiter(), time.Minute)
		if err != nil || took < 3*time.Second {
			t.Errorf("waited %s, %v; the target was ready after 3s", took, err)
		}
	})
}

func TestGate_targetNeverReady_waitEndsWithTheLastVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.wake(1, "app:1")
		_, err := wait(s.Waiter(), 10*time.Second)
		var we *healthgate.WaitError
		if !errors.As(err, &we) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want a WaitError for the deadline", err)
		}
		if we.Verdict != healthgate.Dead || we.Generation != 1 || we.Last == "" {
			t.Errorf("got %+v", we)
		}
	})
}
