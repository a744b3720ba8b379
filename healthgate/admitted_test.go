package healthgate_test

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

// openGate returns a gate that admits to n targets. It runs in a bubble or on real time.
func openGate(t testing.TB, n int) *healthgate.Gate {
	t.Helper()
	net := newNetwork(t)
	g, err := healthgate.NewGate(healthgate.GateConfig{
		Off: true, Probe: healthgate.ProbeConfig{Interval: time.Hour, Dial: net.dial},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	var addrs []string
	for i := range n {
		addrs = append(addrs, fmt.Sprintf("app:%d", i+1))
		net.answer(addrs[i])
	}
	g.Arm(1)
	g.Update(1, targets(addrs...))
	return g
}

func TestGate_pick_prefersTheLessBusyOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openGate(t, 2)
		busy := g.Pick()
		busy.InFlight.Add(1)
		for range 100 {
			if g.Pick() == busy {
				t.Fatal("picked the busier one of two")
			}
		}
	})
}

func TestGate_pick_spreadsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openGate(t, 8)
		counts := map[*healthgate.Member]int64{}
		for range 8000 {
			m := g.Pick()
			counts[m] = m.InFlight.Add(1)
		}
		for m, n := range counts {
			if n < 990 || n > 1010 {
				t.Errorf("%s got %d of 8000", m.Addr, n)
			}
		}
		if len(counts) != 8 {
			t.Errorf("%d of 8 targets were picked", len(counts))
		}
	})
}

func TestGate_requestPath_allocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openGate(t, 3)
		if n := testing.AllocsPerRun(1000, func() {
			m := g.Pick()
			m.InFlight.Add(1)
			g.Report(m, nil)
			m.InFlight.Add(-1)
		}); n != 0 {
			t.Errorf("%v allocations a request", n)
		}
	})
}

// field case 4: refused before the first byte takes the target out, and it is probed at the
// pace of a wake.
func TestGate_reportedFailedDial_takesTheTargetOutAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{Probe: healthgate.ProbeConfig{Interval: time.Minute}})
		s.net.answer("app:1")
		s.wake(1, "app:1")
		s.mustWait(time.Second)
		time.Sleep(10 * time.Second)
		m := s.Pick()
		s.net.refuse("app:1")
		s.Report(m, fmt.Errorf("%w: connection refused", healthgate.ErrDial))
		if s.Pick() != nil {
			t.Error("admitted still")
		}
		if st := s.Members()[0]; st.Admitted || st.Verdict != healthgate.Dead || st.Err == "" {
			t.Errorf("status %+v", st)
		}
		s.wantCalls("booted 1", "ready 1", "lost 1")
		time.AfterFunc(100*time.Millisecond, func() { s.net.answer("app:1") })
		took, err := wait(s.Waiter(), time.Minute)
		if err != nil || took > 130*time.Millisecond {
			t.Errorf("admitted again after %s, %v", took, err)
		}
		if s.Pick() != m {
			t.Error("it is another member now")
		}
	})
}

// A probe that was under way when a dial failed may not bring the target back.
//
// Mutation: have watch.takeOut do nothing, and this fails.
func TestGate_probeFromBeforeAReport_doesNotReadmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{Probe: healthgate.ProbeConfig{Kind: "http"}})
		var down atomic.Bool
		s.net.accept("app:1", func(conn net.Conn) {
			if down.Load() {
				conn.Close()
				return
			}
			slowToAnswer(400 * time.Millisecond)(conn)
		})
		s.wake(1, "app:1")
		s.mustWait(time.Second)
		time.Sleep(1150 * time.Millisecond) // a probe is under way
		down.Store(true)
		s.Report(s.Pick(), healthgate.ErrDial)
		time.Sleep(10 * time.Second)
		s.wantCalls("booted 1", "ready 1", "lost 1")
	})
}

func TestGate_reportedErrors_takeTheTargetOutAfterThreeInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, healthgate.GateConfig{Probe: healthgate.ProbeConfig{Interval: time.Minute}})
		s.net.answer("app:1")
		s.wake(1, "app:1")
		s.mustWait(time.Second)
		m, reset := s.Pick(), errors.New("connection reset")
		for _, err := range []error{reset, reset, nil, reset, reset} {
			s.Report(m, err)
			if s.Pick() != m {
				t.Fatal("taken out before three in a row")
			}
		}
		s.Report(m, reset)
		if s.Pick() != nil {
			t.Error("admitted after three in a row")
		}
		s.mustWait(time.Millisecond) // it answers its probe, so it is back at once
		s.Shut()
		s.Report(m, healthgate.ErrDial) // a member that has left is nobody's concern
		s.wantCalls("booted 1", "ready 1", "lost 1", "ready 1")
	})
}

func BenchmarkGate_pick(b *testing.B) {
	for _, n := range []int{1, 3, 100} {
		b.Run(fmt.Sprintf("targets=%d", n), func(b *testing.B) {
			g := openGate(b, n)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					m := g.Pick()
					m.InFlight.Add(1)
					g.Report(m, nil)
					m.InFlight.Add(-1)
				}
			})
		})
	}
}
