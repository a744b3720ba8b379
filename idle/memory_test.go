package idle_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"doze/idle"
)

// The promise is 2 KiB a sleeping group in all of `doze serve`; these are the lifecycle's
// and the gate's part of it, for a group that never woke and for one with a full history.
const (
	maxBytesNeverWoken = 1088
	maxBytesPerGroup   = 1900
)

// TestLoop_sleepingGroups_costMemoryOnly counts bytes and goroutines of groups that sleep.
func TestLoop_sleepingGroups_costMemoryOnly(t *testing.T) {
	perGroup := addMany(t, 10_000)
	t.Logf("%d bytes per group that never woke", perGroup)
	if perGroup > maxBytesNeverWoken {
		t.Errorf("%d bytes per group, want at most %d", perGroup, maxBytesNeverWoken)
	}
}

// addMany adds groups that sleep and returns how many bytes each costs.
func addMany(t testing.TB, groups int) int {
	ctx, cancel := context.WithCancel(t.Context())
	loop := idle.NewLoop(idle.Config{})
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	heap, goroutines := usedMemory(), runtime.NumGoroutine()
	c := new(crowd)
	for i := range groups {
		c.add(t, loop, i)
	}
	perGroup := (usedMemory() - heap) / groups
	if n := runtime.NumGoroutine() - goroutines; n > 0 {
		t.Errorf("%d goroutines for sleeping groups", n)
	}
	if n := len(loop.Groups()); n != groups {
		t.Errorf("%d groups, want %d", n, groups)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return perGroup
}

// TestGroup_afterManyLives_costsNoMore wakes 2,000 groups and puts them to sleep again, until
// every history is full.
func TestGroup_afterManyLives_costsNoMore(t *testing.T) {
	const groups, lives = 2000, 4
	ctx, cancel := context.WithCancel(t.Context())
	loop := idle.NewLoop(idle.Config{})
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	gone, leave := context.WithCancel(ctx)
	leave()
	heap := usedMemory()
	c := new(crowd)
	all := make([]*idle.Group, groups)
	for i := range all {
		all[i] = c.add(t, loop, i)
	}
	for range lives {
		for _, g := range all {
			g.Acquire()
			if err := g.Await(gone, "request"); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			g.Release()
			if err := g.Sleep(ctx, "command", true); err != nil {
				t.Fatal(err)
			}
		}
		awaitAsleep(t, ctx, all)
	}
	perGroup := (usedMemory() - heap) / groups
	t.Logf("%d bytes per group after %d lives", perGroup, lives)
	if n := len(all[0].Status().History); n != 8 {
		t.Errorf("history holds %d transitions, want 8", n)
	}
	if perGroup > maxBytesPerGroup {
		t.Errorf("%d bytes per group, want at most %d", perGroup, maxBytesPerGroup)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(loop)
}

// awaitAsleep lets the loop work until every group sleeps: each command is answered after
// what came before it.
func awaitAsleep(t testing.TB, ctx context.Context, groups []*idle.Group) {
	t.Helper()
	for _, g := range groups {
		for g.Status().State != idle.Asleep {
			if err := g.Sleep(ctx, "command", false); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func usedMemory() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
