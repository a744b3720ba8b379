package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// still is a workload that does as it is told at once.
type still struct{}

func (still) Wake(context.Context, healthgate.Generation) error                      { return nil }
func (still) Sleep(context.Context, healthgate.Generation, idle.Depth, string) error { return nil }

// inRestorer runs f with n groups that have been found awake, and a restorer.
func inRestorer(t *testing.T, n int,
	leases func(context.Context, idle.GroupID) (map[string]time.Time, error),
	f func([]*idle.Group, *restorer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		loop := idle.NewLoop(idle.Config{})
		r := newRestorer(loop, slog.New(slog.DiscardHandler))
		r.leases = leases
		var groups []*idle.Group
		for i := range n {
			g, err := loop.Add(idle.GroupConfig{
				ID:       idle.GroupID{Namespace: "default", Job: fmt.Sprint("job", i), Group: "web"},
				Policy:   idle.Policy{Rungs: []idle.Rung{{Depth: idle.Zero, After: time.Hour}}, WakeTimeout: time.Minute},
				Workload: still{}, Observed: idle.Observation{Count: 1, Cause: "found at start"},
			})
			if err != nil {
				t.Fatal(err)
			}
			groups = append(groups, g)
			r.add(g.ID())
		}
		var running sync.WaitGroup
		running.Go(func() { _ = loop.Run(ctx) }) // the error only says that ctx has ended
		running.Go(func() { r.run(ctx) })
		f(groups, r)
		cancel()
		running.Wait()
	})
}

// A large cluster is found awake all at once, long before Nomad has told every lease.
func TestRestorer_thousandsAtOnce_noneIsForgotten(t *testing.T) {
	until := func(context.Context, idle.GroupID) (map[string]time.Time, error) {
		time.Sleep(time.Millisecond)
		return map[string]time.Time{"night": time.Now().Add(2 * time.Hour)}, nil
	}
	inRestorer(t, 3000, until, func(groups []*idle.Group, _ *restorer) {
		time.Sleep(10 * time.Second)
		for _, g := range groups {
			if len(g.Status().Leases) != 1 {
				t.Fatalf("%s has leases %v", g.ID(), g.Status().Leases)
			}
		}
	})
}

// field case 3, field case 21: leases survive a restart while Nomad is away.
func TestRestorer_nomadDoesNotAnswer_isAskedAgain(t *testing.T) {
	begun, asked := time.Time{}, 0
	leases := func(context.Context, idle.GroupID) (map[string]time.Time, error) {
		if begun.IsZero() {
			begun = time.Now()
		}
		asked++
		if time.Since(begun) < 5*time.Minute {
			return nil, errors.New("500 No cluster leader")
		}
		return map[string]time.Time{"night": begun.Add(2 * time.Hour)}, nil
	}
	inRestorer(t, 3, leases, func(groups []*idle.Group, _ *restorer) {
		time.Sleep(6 * time.Minute)
		for _, g := range groups {
			if len(g.Status().Leases) != 1 {
				t.Errorf("%s has leases %v", g.ID(), g.Status().Leases)
			}
		}
		if asked > 30 {
			t.Errorf("asked %d times in 6 minutes", asked)
		}
	})
}

// A group found later does not wait for the earlier ones' bad luck any longer than the pause.
func TestRestorer_oneGroupThatCannotBeRead_othersAreRestored(t *testing.T) {
	leases := func(_ context.Context, id idle.GroupID) (map[string]time.Time, error) {
		if id.Job == "job0" {
			return nil, errors.New("403 Permission denied")
		}
		return map[string]time.Time{"night": time.Now().Add(2 * time.Hour)}, nil
	}
	inRestorer(t, 5, leases, func(groups []*idle.Group, r *restorer) {
		time.Sleep(time.Minute)
		for _, g := range groups[1:] {
			if len(g.Status().Leases) != 1 {
				t.Errorf("%s has leases %v", g.ID(), g.Status().Leases)
			}
		}
		r.loop.Remove(groups[0].ID()) // what has gone is forgotten
		time.Sleep(time.Minute)
		if _, left := r.next(); left {
			t.Error("a group that has gone is still waited for")
		}
	})
}
