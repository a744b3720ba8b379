package healthgate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

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
// field case 27: what was verified before a sleep is not verified after it.
//
// Mutation: have Arm keep the snapshot of admitted members (drop the re-arm), and this fails
// at once.
func TestGate_armedAgain_isShutUntilTheNewTargetAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.net.answer("app:1")
		s.wake(1, "app:1")
		s.mustWait(time.Second)

		s.net.refuse("app:1")
		s.wake(2, "app:1") // without Shut: Arm alone must do
		if m := s.Pick(); m != nil {
			t.Fatalf("picked %v of a target that has not started", m.Target)
		}
		time.AfterFunc(3*time.Second, func() { s.net.answer("app:1") })
		took, err := wait(s.Waiter(), time.Minute)
		if err != nil || took < 3*time.Second {
			t.Errorf("waited %s, %v; the target was ready after 3s", took, err)
		}
		s.wantCalls("booted 1", "ready 1", "booted 2", "ready 2")
	})
}

// field case 4: ready means a probe of this wake through the address that requests will use.
func TestGate_targetOfTheLastWakeAnswersLate_doesNotOpenTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{Probe: healthgate.ProbeConfig{
			Kind: "http", Timeout: 10 * time.Second,
		}})
		s.net.accept("old:1", slowToAnswer(2*time.Second))
		s.wake(1, "old:1")
		time.Sleep(1999 * time.Millisecond) // its answer is almost there
		s.wake(2, "new:1")
		time.Sleep(time.Minute)
		if m := s.Pick(); m != nil {
			t.Errorf("picked %v of generation %d", m.Target, m.Generation)
		}
		if n := s.counters.Healthy.Load(); n != 0 {
			t.Errorf("healthy %d times", n)
		}
	})
}

// field case 4: a redeploy under the same ID has another address, and starts unverified.
func TestGate_targetMoves_isProbedAtItsNewAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.net.answer("app:1")
		s.Arm(1)
		s.Update(1, []healthgate.Target{{ID: "a", Addr: "app:1"}})
		s.mustWait(time.Second)
		before := s.Pick()
		s.Update(1, []healthgate.Target{{ID: "a", Addr: "app:2"}})
		if m := s.Pick(); m != nil {
			t.Errorf("picked %v, which nobody has probed", m.Target)
		}
		s.wantCalls("booted 1", "ready 1", "lost 1")
		if len(s.gone) != 1 || s.gone[0] != before {
			t.Errorf("gone: %v, want the member at the old address", s.gone)
		}
		s.net.answer("app:2")
		s.mustWait(time.Second)
		s.wantCalls("booted 1", "ready 1", "lost 1", "ready 1")
	})
}

func TestGate_updateAgain_keepsMembersAndTheirState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.net.answer("app:1")
		s.wake(1, "app:1")
		s.mustWait(time.Second)
		before, dials := s.Pick(), s.net.dialled("app:1")
		s.Update(1, targets("app:2", "app:1", "app:1"))
		if s.Pick() != before {
			t.Error("the member changed")
		}
		synctest.Wait()
		if s.net.dialled("app:1") != dials {
			t.Error("a known target was probed anew")
		}
		all := s.Members()
		if len(all) != 2 || all[0].Addr != "app:2" || all[0].Admitted || !all[1].Admitted {
			t.Errorf("members: %+v", all)
		}
		if all[0].Verdict != healthgate.Dead || all[0].Err == "" || all[1].Err != "" {
			t.Errorf("members: %+v", all)
		}
		s.Update(1, nil)
		s.wantCalls("booted 1", "ready 1", "lost 1")
	})
}

func TestGate_staleGeneration_changesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.net.answer("app:1")
		s.Update(0, targets("app:1")) // shut
		s.Arm(2)
		s.Arm(1)
		s.Arm(2)
		s.Update(1, targets("app:1"))
		s.Fail(1, errors.New("stale"))
		if s.OpenAnyway(1) || s.OpenAnyway(2) {
			t.Error("opened without a target")
		}
		if s.Members() != nil && len(s.Members()) != 0 {
			t.Errorf("members: %+v", s.Members())
		}
		w := s.Waiter()
		s.Update(2, targets("app:1"))
		if _, err := wait(w, time.Second); err != nil {
			t.Error(err)
		}
		if n := s.counters.Started.Load(); n != 1 {
			t.Errorf("started %d generations", n)
		}
	})
}

// A sleeping group costs memory only.
func TestGate_shut_probesNothingAndAdmitsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{})
		s.net.answer("app:1")
		s.wake(1, "app:1")
		s.mustWait(time.Second)
		s.Shut()
		synctest.Wait()
		dials := s.net.dialled("app:1")
		time.Sleep(time.Hour)
		if s.net.dialled("app:1") != dials {
			t.Error("a shut gate probes")
		}
		if s.Pick() != nil || s.Members() != nil {
			t.Error("a shut gate admits")
		}
		s.Shut() // twice is once
		if n := s.counters.Aborted.Load(); n != 0 {
			t.Errorf("aborted %d", n)
		}
		if len(s.gone) != 1 {
			t.Errorf("%d members left, want 1", len(s.gone))
		}
	})
}

func TestGate_probeHangs_shutAndArmDoNotWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{Probe: healthgate.ProbeConfig{Timeout: time.Hour}})
		s.net.swallow("app:1")
		s.wake(1, "app:1")
		time.Sleep(time.Second)
		start := time.Now()
		s.wake(2, "app:1")
		s.Shut()
		s.Close()
		if took := time.Since(start); took != 0 {
			t.Errorf("took %s", took)
		}
		if n := s.counters.Aborted.Load(); n != 2 {
			t.Errorf("aborted %d, want 2", n)
		}
	})
}

func TestGate_targetStopsAnswering_isLostAfterFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{Probe: healthgate.ProbeConfig{Fall: 2}})
		s.net.answer("app:1")
		s.wake(1, "app:1")
		s.mustWait(time.Second)
		s.net.refuse("app:1")
		time.Sleep(1200 * time.Millisecond)
		if s.Pick() == nil {
			t.Error("lost after one failure")
		}
		time.Sleep(1100 * time.Millisecond)
		s.wantCalls("booted 1", "ready 1", "lost 1")
		s.net.answer("app:1")
		time.Sleep(60 * time.Millisecond) // soon after the fall: the pace of a wake
		s.wantCalls("booted 1", "ready 1", "lost 1", "ready 1")
	})
}

func TestGate_openAnyway_admitsTheUnverifiedAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{Probe: healthgate.ProbeConfig{Kind: "http"}})
		s.net.serve(t, "app:1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
		}))
		s.wake(1, "app:1")
		w := s.Waiter()
		time.Sleep(time.Second)
		if !s.OpenAnyway(1) {
			t.Fatal("there was a target")
		}
		if _, err := wait(w, 0); err != nil {
			t.Errorf("waiter: %v", err)
		}
		time.Sleep(time.Minute) // failed probes do not take it out
		if s.Pick() == nil {
			t.Fatal("nobody is admitted")
		}
		s.wantCalls("booted 1", "ready 1")
		s.Report(s.Pick(), fmt.Errorf("%w: refused", healthgate.ErrDial)) // a failed dial does
		if s.Pick() != nil {
			t.Error("admitted still")
		}
		s.Shut()
		c := &s.counters
		if c.FailedOpen.Load() != 1 || c.Healthy.Load() != 0 || c.Aborted.Load() != 0 {
			t.Errorf("open %d, healthy %d, aborted %d",
				c.FailedOpen.Load(), c.Healthy.Load(), c.Aborted.Load())
		}
	})
}

// field case 35, the kill switch: off admits to what exists, and probing goes on.
func TestGate_off_admitsWhatExistsAndGoesOnProbing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{Off: true})
		s.wake(1, "app:1")
		m := s.Pick()
		if m == nil {
			t.Fatal("nobody is admitted")
		}
		s.Report(m, healthgate.ErrDial)
		if s.Pick() != m {
			t.Error("taken out though the gate is off")
		}
		time.AfterFunc(time.Second, func() { s.net.answer("app:1") })
		time.Sleep(2 * time.Second)
		if s.counters.FailedOpen.Load() != 1 || s.counters.Healthy.Load() != 1 {
			t.Errorf("open %d, healthy %d", s.counters.FailedOpen.Load(), s.counters.Healthy.Load())
		}
		s.wantCalls("ready 1", "booted 1")
	})
}

// field case 35: nothing passes before the probe says so, and a restart (a new gate)
// probes what is running already.
func TestGate_restart_probesWhatRunsBeforeAnythingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boot := time.Now().Add(16 * time.Second)
		s := newScene(t, healthgate.GateConfig{Probe: healthgate.ProbeConfig{
			Kind: "http", Path: "/health", Statuses: "200",
		}})
		s.net.serve(t, "app:1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if time.Now().Before(boot) { // boots, and sends everybody to the wrong site
				w.Header().Set("Location", "http://elsewhere.example/")
				w.WriteHeader(http.StatusFound)
			}
		}))
		s.wake(1, "app:1")
		took, err := wait(s.Waiter(), time.Minute)
		if err != nil || took < 16*time.Second || took > 18*time.Second {
			t.Errorf("admitted after %s, %v", took, err)
		}
		restarted, err := healthgate.NewGate(healthgate.GateConfig{
			Probe: healthgate.ProbeConfig{Kind: "http", Path: "/health", Dial: s.net.dial},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer restarted.Close()
		restarted.Arm(1)
		restarted.Update(1, targets("app:1"))
		if restarted.Pick() != nil {
			t.Error("admitted before it was probed")
		}
		if took, err := wait(restarted.Waiter(), time.Minute); err != nil || took != 0 {
			t.Errorf("a running target was admitted after %s, %v", took, err)
		}
	})
}

func TestGate_probeDies_isCountedAndFailsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counters healthgate.Counters
		g, err := healthgate.NewGate(healthgate.GateConfig{
			Counters: &counters,
			Probe: healthgate.ProbeConfig{Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: syscall.EMFILE}
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		g.Arm(1)
		g.Update(1, targets("app:1"))
		time.Sleep(50 * time.Millisecond)
		if counters.Error.Load() == 0 || g.Pick() != nil || g.Members()[0].Verdict != healthgate.Unknown {
			t.Errorf("%d errors, %+v", counters.Error.Load(), g.Members())
		}
	})
}

func TestGate_sharedLimit_boundsProbesOfAllGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := make(chan struct{}, 2)
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case places <- struct{}{}:
			default:
				t.Error("more than 2 probes at once")
			}
			time.Sleep(10 * time.Millisecond)
			<-places
			return nil, syscall.ECONNREFUSED
		}
		limit := healthgate.NewLimiter(2)
		for range 5 {
			g, err := healthgate.NewGate(healthgate.GateConfig{
				Limit: limit, Probe: healthgate.ProbeConfig{Dial: dial},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			g.Arm(1)
			g.Update(1, targets("a:1", "b:1", "c:1"))
		}
		time.Sleep(5 * time.Second)
	})
}

// A callback may wait for whoever calls the gate, so it cannot run on the caller's goroutine.
func TestGate_callback_runsBesideTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready, gone := make(chan healthgate.Generation), make(chan *healthgate.Member)
		g, err := healthgate.NewGate(healthgate.GateConfig{
			Off:     true,
			Probe:   healthgate.ProbeConfig{Dial: newNetwork(t).dial},
			OnReady: func(gen healthgate.Generation) { ready <- gen },
			OnGone:  func(m *healthgate.Member) { gone <- m },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		g.Arm(1)
		g.Update(1, targets("app:1"))
		g.Shut()
		if gen := <-ready; gen != 1 {
			t.Errorf("ready %d", gen)
		}
		if m := <-gone; m.Addr != "app:1" {
			t.Errorf("gone: %v", m.Target)
		}
	})
}

func TestGate_changes_areLoggedOnceAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.LevelKey || a.Key == slog.MessageKey || a.Key == "target" {
					return a
				}
				return slog.Attr{}
			},
		}))
		s := newScene(t, healthgate.GateConfig{Log: log, Probe: healthgate.ProbeConfig{Fall: 1}})
		s.wake(1, "app:1")
		time.Sleep(time.Minute) // failing all the while
		s.OpenAnyway(1)
		s.net.answer("app:1")
		time.Sleep(time.Minute)
		s.net.refuse("app:1")
		time.Sleep(time.Minute)
		s.Close()
		want := `level=WARN msg="failing open: targets are admitted that have not passed their probe"
level=INFO msg="target is ready" target=id-app:1
level=WARN msg="target is no longer ready" target=id-app:1
level=WARN msg="no target is left"
`
		if out.String() != want {
			t.Errorf("logged\n%s\nwant\n%s", out.String(), want)
		}
	})
}

func TestNewGate_badProbe_isAnError(t *testing.T) {
	good, err := healthgate.NewGate(healthgate.GateConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, like := range []*healthgate.Gate{nil, good} {
		_, err := healthgate.NewGate(healthgate.GateConfig{
			Probe: healthgate.ProbeConfig{Kind: "icmp"}, Like: like,
		})
		if _, ok := errors.AsType[*healthgate.FieldError](err); !ok {
			t.Errorf("got %v", err)
		}
	}
}

// A group that sleeps costs its gate and, unless it shares it, its probe: at most 2 KiB in
// all, with room for what others keep of a group.
func TestGate_asleep_isSmall(t *testing.T) {
	if n := unsafe.Sizeof(healthgate.Gate{}); n > 160 {
		t.Errorf("a Gate takes %d bytes", n)
	}
	const groups = 20_000 // so that what other tests leave behind does not count
	counters := new(healthgate.Counters)
	for _, test := range []struct {
		share bool
		most  int64
	}{{false, 640}, {true, 384}} {
		gates := make([]*healthgate.Gate, groups)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools still held
		runtime.ReadMemStats(&before)
		for i := range gates {
			cfg := healthgate.GateConfig{
				Probe:    healthgate.ProbeConfig{Kind: "http", Path: "/healthz", Body: "ok|ready"},
				Counters: counters,
			}
			if test.share && i > 0 {
				cfg.Like = gates[i-1]
			}
			g, err := healthgate.NewGate(cfg)
			if err != nil {
				t.Fatal(err)
			}
			g.Arm(1)
			g.Waiter()
			g.Shut()
			gates[i] = g
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		each := int64(after.HeapAlloc-before.HeapAlloc) / groups
		if each > test.most {
			t.Errorf("%d bytes a sleeping gate (shared: %t), want at most %d", each, test.share,
				test.most)
		}
		runtime.KeepAlive(gates)
	}
}
