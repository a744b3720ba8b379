package idle_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"doze/idle"
)

// TestGroup_acquireWhileFallingAsleep_neverSlipsPast races real goroutines against a loop
// that is told to put the group to sleep as often as it can: whoever was let through holds the group
// awake until he releases it.
func TestGroup_acquireWhileFallingAsleep_neverSlipsPast(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	loop := idle.NewLoop(idle.Config{})
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	w := &guarded{t: t}
	g, err := loop.Add(idle.GroupConfig{
		ID: idle.GroupID{Job: "a"}, Policy: policy(), Workload: w, Gate: gateConfig(listening()),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.group = g
	var clients, sleeper sync.WaitGroup
	var left atomic.Bool
	for range 3 {
		clients.Go(func() {
			for range 50 {
				w.request(ctx)
				slept := w.slept.Load()
				for i := 0; i < 1000 && w.slept.Load() == slept; i++ {
					runtime.Gosched() // a chance to fall asleep
				}
			}
		})
	}
	sleeper.Go(func() {
		for !left.Load() {
			if err := g.Sleep(ctx, "command", false); err != nil && !errors.Is(err, idle.ErrLeased) {
				t.Error(err)
			}
		}
	})
	clients.Wait()
	left.Store(true)
	sleeper.Wait()
	t.Logf("put to sleep %d times", w.slept.Load())
	if n := g.Status().InFlight; n != 0 {
		t.Errorf("%d in flight at the end, want 0", n)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
