package idle_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
	"doze/idle"
)

func gateConfig(w *world) healthgate.GateConfig {
	return healthgate.GateConfig{Probe: healthgate.ProbeConfig{Dial: w.dial}}
}

func TestGroup_sleepWhileInUse_isRefusedUnlessForced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 1)
		w.state(idle.Ready)
		served := make(chan error, 1)
		go func() { served <- w.request(t.Context(), time.Minute) }()
		synctest.Wait()
		if err := w.group.Sleep(t.Context(), "command", false); !errors.Is(err, idle.ErrLeased) {
			t.Errorf("sleep with a request in flight: %v", err)
		}
		w.state(idle.Ready)
		if err := w.group.Sleep(t.Context(), "command", true); err != nil {
			t.Errorf("forced sleep: %v", err)
		}
		time.Sleep(time.Second)
		w.state(idle.Asleep)
		if err := <-served; !errors.Is(err, errReset) {
			t.Errorf("the request that was in flight got %v", err)
		}
		w.state(idle.Asleep)
		w.stop()
	})
}

func TestGroup_forcedSleepWhileWaking_refusesThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 0)
		got := make(chan error, 1)
		go func() { got <- w.request(t.Context(), 0) }()
		synctest.Wait()
		w.state(idle.Waking)
		if err := w.group.Sleep(t.Context(), "command", false); !errors.Is(err, idle.ErrLeased) {
			t.Errorf("sleep with a request held: %v", err)
		}
		if err := w.group.Sleep(t.Context(), "command", true); err != nil {
			t.Fatal(err)
		}
		if _, ok := errors.AsType[*idle.FailedError](<-got); !ok {
			t.Error("the held request was not refused")
		}
		time.Sleep(time.Second)
		w.state(idle.Asleep)
		w.stop()
	})
}

func TestGroup_sleepWhenItSleepsAlready_isNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 0)
		if err := w.group.Sleep(t.Context(), "command", false); err != nil {
			t.Error(err)
		}
		w.stop()
	})
}

func TestGroup_commandWithoutALoop_waitsForItsContextOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := idle.NewLoop(idle.Config{})
		g := new(crowd).add(t, loop, 1)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errReset)
		defer cancel()
		if err := g.Wake(ctx, "command"); !errors.Is(err, errReset) {
			t.Errorf("wake got %v, want the context's cause", err)
		}
	})
}

// Several leases of one group: a shorter one never ends a longer one early (field case 3).
func TestGroup_leases_longestWinsAndKeepsAwake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 0)
		start := time.Now()
		hold := func(name string, d, want time.Duration) {
			t.Helper()
			until, err := w.group.KeepAwake(t.Context(), name, start.Add(d))
			if err != nil || !until.Equal(start.Add(want)) {
				t.Errorf("lease %q is in force until %s, want %s (%v)", name, until.Sub(start), want, err)
			}
		}
		hold("demo", 2*time.Hour, 2*time.Hour)
		w.state(idle.Waking)
		hold("demo", time.Hour, 2*time.Hour)
		hold("other", 3*time.Hour, 3*time.Hour)
		if err := w.group.Sleep(t.Context(), "command", false); !errors.Is(err, idle.ErrLeased) {
			t.Errorf("sleep with leases out: %v", err)
		}
		if had, err := w.group.DropLease(t.Context(), "other"); !had || err != nil {
			t.Errorf("drop: %t %v", had, err)
		}
		if had, err := w.group.DropLease(t.Context(), "other"); had || err != nil {
			t.Errorf("second drop: %t %v", had, err)
		}
		time.Sleep(2*time.Hour - time.Second)
		w.state(idle.Ready)
		if n := len(w.group.Status().Leases); n != 1 {
			t.Errorf("%d leases, want 1", n)
		}
		time.Sleep(2 * time.Second)
		w.state(idle.Asleep)
		w.stop()
	})
}

func TestGroup_leaseThatCannotBeHeld_isAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 1)
		if _, err := w.group.KeepAwake(t.Context(), "past", time.Now()); err == nil {
			t.Error("a lease that has ended was taken")
		}
		for i := range 64 {
			if _, err := w.group.KeepAwake(t.Context(), fmt.Sprint(i), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.group.KeepAwake(t.Context(), "one more", time.Now().Add(time.Hour))
		if !errors.Is(err, idle.ErrTooManyLeases) {
			t.Errorf("the 65th lease: %v", err)
		}
		w.stop()
	})
}

func TestGroup_status_tellsWhatAndWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy(), 0)
		for range 5 {
			if err := w.request(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
			ended := time.Now()
			s := w.group.Status()
			if !s.LastActivity.Equal(ended) || !s.SleepsAt.Equal(ended.Add(time.Minute)) {
				t.Errorf("last activity %s, sleeps at %s", s.LastActivity, s.SleepsAt)
			}
			time.Sleep(2 * time.Minute)
		}
		s := w.group.Status()
		if s.State != idle.Asleep || s.Depth != idle.Zero || s.Wakes != 5 || s.Generation != 5 {
			t.Errorf("status is %+v", s)
		}
		if len(s.History) != 8 || s.History[7].To != idle.Asleep || s.History[7].Cause != "idle for 1m0s" {
			t.Errorf("history is %+v", s.History)
		}
		w.mu.Lock()
		last := w.seen[len(w.seen)-1]
		w.mu.Unlock()
		if got := s.History[7]; !got.At.Equal(last.At) || got.Group != last.Group {
			t.Errorf("history ends with %+v, told was %+v", got, last)
		}
		w.stop()
	})
}

func TestLoop_badConfig_isRefused(t *testing.T) {
	loop := idle.NewLoop(idle.Config{})
	good := idle.GroupConfig{ID: idle.GroupID{Job: "a"}, Policy: policy(), Workload: new(crowd)}
	if _, err := loop.Add(good); err != nil {
		t.Fatal(err)
	}
	bad := map[string]func(*idle.GroupConfig){
		"same ID":     func(c *idle.GroupConfig) {},
		"no workload": func(c *idle.GroupConfig) { c.ID.Job, c.Workload = "b", nil },
		"bad policy":  func(c *idle.GroupConfig) { c.ID.Job, c.Policy.WakeTimeout = "b", 0 },
		"bad probe":   func(c *idle.GroupConfig) { c.ID.Job, c.Gate.Probe.Kind = "b", "smoke" },
		"callbacks":   func(c *idle.GroupConfig) { c.ID.Job, c.Gate.OnReady = "b", func(healthgate.Generation) {} },
	}
	for name, spoil := range bad {
		cfg := good
		spoil(&cfg)
		if _, err := loop.Add(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if n := len(loop.Groups()); n != 1 {
		t.Errorf("%d groups, want 1", n)
	}
}
