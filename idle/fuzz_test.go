package idle_test

import (
	"errors"
	"testing"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// choices reads decisions from bytes; when they are used up, the first is taken.
type choices struct{ bytes []byte }

func (c *choices) choose(n int) int {
	if len(c.bytes) == 0 {
		return 0
	}
	b := c.bytes[0]
	c.bytes = c.bytes[1:]
	return int(b) % n
}

// FuzzMachine_schedules plays the simulation's world with the fuzzer's choices.
func FuzzMachine_schedules(f *testing.F) {
	f.Add([]byte("a request, a sleep, a lease, a failure"), true)
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, false)
	f.Fuzz(func(t *testing.T, bytes []byte, faults bool) {
		c := &choices{bytes}
		w := newSimWorld(c.choose, faults)
		w.verbose = true
		w.live(min(len(bytes)/4, 60))
		if len(w.problems) > 0 {
			t.Errorf("%q\n%s", w.problems, w.log.String())
		}
	})
}

// FuzzMachine_anyEvents throws events at the machine that make no sense, and looks at what
// a loop relies on whatever comes: it never panics, calls do not overlap, generations only
// grow, and the gate is open only when ready.
func FuzzMachine_anyEvents(f *testing.F) {
	f.Add([]byte{0, 0, 0, 11, 0, 0, 8, 0, 1, 19, 200, 1, 13, 0, 0, 15, 0, 0, 12, 0, 3})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		c := &choices{bytes}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		p := policy()
		watch := callWatch{t: t, call: idle.Report}
		m := idle.NewMachine(now, &p, idle.Zero)
		for range min(len(bytes)/3, 400) {
			now = now.Add(time.Duration(c.choose(256)) * time.Second)
			ev := anyEvent(c, now, m.Generation())
			gen := m.Generation()
			watch.answered(ev)
			for _, e := range m.Step(now, ev) {
				watch.effect(e, m.State())
			}
			if m.Generation() < gen {
				t.Fatalf("generation went from %d to %d", gen, m.Generation())
			}
			if m.State() > idle.Failed {
				t.Fatalf("state is %d", m.State())
			}
		}
	})
}

// anyEvent makes an event of the fuzzer's choices.
func anyEvent(c *choices, now time.Time, gen healthgate.Generation) idle.Event {
	flags := c.choose(256)
	kinds := idle.EventKinds()
	ev := idle.Event{
		Kind:       kinds[c.choose(len(kinds)-1)], // Removed would end the run
		Generation: gen - healthgate.Generation(flags&1),
		Force:      flags&2 != 0,
		Depth:      idle.Depth(flags & 3),
		Lease:      "a",
		Until:      now.Add(time.Duration(flags) * time.Second),
		Policy:     &idle.Policy{WakeTimeout: time.Second, FailOpen: flags&4 != 0},
		Activity: idle.Activity{InFlight: int64(flags >> 3 & 1), Waiting: int64(flags >> 4 & 1),
			Last: now, Known: flags&32 != 0, Admitted: flags&64 != 0},
		Observation: idle.Observation{Count: flags >> 7},
	}
	if flags&2 != 0 {
		ev.Err = errSim
		ev.Targets = []healthgate.Target{{ID: "a", Addr: "a:1"}}
		ev.Policy.Rungs = []idle.Rung{{Depth: idle.Freeze, After: time.Second},
			{Depth: idle.Zero, After: time.Minute}}
	}
	return ev
}

// callWatch follows the calls that a machine asks for.
type callWatch struct {
	t    *testing.T
	call idle.EffectKind
	gen  healthgate.Generation
}

// answered notes that the call under way has ended.
func (w *callWatch) answered(ev idle.Event) {
	wake := ev.Kind == idle.WakeReturned && w.call == idle.CallWake
	sleep := ev.Kind == idle.SleepReturned && w.call == idle.CallSleep
	if (wake || sleep) && ev.Generation == w.gen {
		w.call = idle.Report
	}
}

func (w *callWatch) effect(e idle.Effect, after idle.State) {
	switch e.Kind {
	case idle.CallWake, idle.CallSleep:
		if w.call != idle.Report {
			w.t.Fatalf("%s while %s is under way", e.Kind, w.call)
		}
		w.call, w.gen = e.Kind, e.Generation
	case idle.AdmitRequests:
		if after != idle.Ready && after != idle.Waking {
			w.t.Fatalf("requests are admitted, the state is %s", after)
		}
	case idle.FailWaiters:
		failed, ok := errors.AsType[*idle.FailedError](e.Err)
		if !ok || failed.RetryAfter <= 0 {
			w.t.Fatalf("waiters get %#v", e.Err)
		}
	}
}
