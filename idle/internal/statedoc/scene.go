package statedoc

import (
	"errors"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// scene is a machine brought to a state by events alone, and the time there.
type scene struct {
	name string
	m    idle.Machine
	now  time.Time
}

// scenes returns a machine in every state, and where a state has different kinds of being
// in it, one of each.
func scenes() []*scene {
	return []*scene{
		newScene("asleep"),
		newScene("asleep, frozen").frozen(),
		newScene("waking").wake(),
		newScene("waking, targets placed").place(),
		newScene("waking, wake returned").place().returned(),
		newScene("waking, adopted").adopt(),
		newScene("waking, adopted, overdue").adopt().deadline(),
		newScene("ready").ready(),
		newScene("draining").drain(),
		newScene("sleeping").sleep(),
		newScene("sleeping, not told yet").untold(),
		newScene("failed").fail(),
		newScene("failed, backoff over").fail().pass(time.Second),
		newScene("failed, call still under way").timeOut().pass(time.Second),
	}
}

func newScene(name string) *scene {
	p := idle.Policy{
		Rungs: []idle.Rung{
			{Depth: idle.Freeze, After: time.Minute},
			{Depth: idle.Zero, After: time.Hour},
		},
		WakeTimeout: 20 * time.Second,
		DrainDelay:  5 * time.Second,
		FailOpen:    true,
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &scene{name: name, m: idle.NewMachine(now, &p, idle.Zero), now: now}
}

// step takes one event in a group that nobody uses.
func (s *scene) step(ev idle.Event) {
	ev.Activity = unused(s.m.State())
	s.m.Step(s.now, ev)
}

// unused is the activity of a group in state that nobody uses.
func unused(state idle.State) idle.Activity {
	up := state == idle.Ready || state == idle.Draining
	return idle.Activity{Known: true, Admitted: up}
}

func (s *scene) pass(d time.Duration) *scene {
	s.now = s.now.Add(d)
	return s
}

func (s *scene) wake() *scene {
	s.step(idle.Event{Kind: idle.RequestHeld, Cause: "request"})
	return s
}

func (s *scene) place() *scene {
	s.wake()
	s.step(idle.Event{Kind: idle.TargetsDeclared, Targets: targets()})
	return s
}

func targets() []healthgate.Target { return []healthgate.Target{{ID: "a", Addr: "a:1"}} }

func (s *scene) adopt() *scene {
	s.step(idle.Event{
		Kind: idle.Observed, Observation: idle.Observation{Count: 1, Cause: "found at start"},
	})
	return s
}

func (s *scene) ready() *scene {
	s.place().returned()
	s.step(idle.Event{Kind: idle.TargetReady, Generation: s.m.Generation()})
	return s
}

func (s *scene) returned() *scene {
	s.step(idle.Event{Kind: idle.WakeReturned, Generation: s.m.Generation()})
	return s
}

func (s *scene) drain() *scene {
	s.ready()
	s.now = s.m.Due()
	s.step(idle.Event{Kind: idle.DeadlinePassed})
	s.step(idle.Event{Kind: idle.GateShut})
	return s
}

func (s *scene) sleep() *scene {
	s.drain()
	s.now = s.m.Due()
	s.step(idle.Event{Kind: idle.DeadlinePassed})
	s.step(idle.Event{Kind: idle.GateClosed})
	return s
}

// untold is sleeping while the workload still has an older call to answer.
func (s *scene) untold() *scene {
	s.wake()
	s.step(idle.Event{Kind: idle.SleepAsked, Cause: "command"})
	s.step(idle.Event{Kind: idle.GateClosed})
	return s
}

func (s *scene) frozen() *scene {
	s.sleep()
	s.step(idle.Event{Kind: idle.SleepReturned, Generation: s.m.Generation()})
	return s
}

func (s *scene) fail() *scene {
	s.wake()
	s.step(idle.Event{
		Kind: idle.WakeReturned, Generation: s.m.Generation(), Err: errors.New("no"),
	})
	return s
}

func (s *scene) deadline() *scene {
	s.now = s.m.Due()
	s.step(idle.Event{Kind: idle.DeadlinePassed})
	return s
}

func (s *scene) timeOut() *scene {
	s.place()
	s.now = s.m.Due()
	s.step(idle.Event{Kind: idle.DeadlinePassed})
	s.step(idle.Event{Kind: idle.NothingToOpen})
	return s
}
