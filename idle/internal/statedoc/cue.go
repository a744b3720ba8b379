package statedoc

import (
	"errors"
	"time"

	"doze/idle"
)

// cue is one kind of thing that can happen to a group, whatever its state.
type cue struct {
	name    string
	event   func(s *scene) idle.Event
	use     func(*idle.Activity) // how the group is used just then; nil: not at all
	against bool                 // what the machine then awaits is answered against what was wanted
}

func plain(name string, ev idle.Event) cue {
	return cue{name: name, event: func(*scene) idle.Event { return ev }}
}

// result is an asynchronous result of the current generation.
func result(name string, kind idle.EventKind, err error) cue {
	return cue{name: name, event: func(s *scene) idle.Event {
		return idle.Event{Kind: kind, Generation: s.m.Generation(), Err: err}
	}}
}

// deadline is the state's own deadline.
func deadline(name string) cue {
	return cue{name: name, event: func(s *scene) idle.Event {
		if due := s.m.Due(); due.After(s.now) {
			s.now = due
		}
		return idle.Event{Kind: idle.DeadlinePassed}
	}}
}

// with says how the group is used just then.
func (c cue) with(use func(*idle.Activity)) cue {
	c.use = use
	return c
}

// activity is what the event comes with.
func (c cue) activity(s *scene) idle.Activity {
	act := unused(s.m.State())
	if c.use != nil {
		c.use(&act)
	}
	return act
}

func held(act *idle.Activity)    { act.InFlight, act.Waiting = 1, 1 }
func served(act *idle.Activity)  { act.InFlight = 1 }
func unknown(act *idle.Activity) { act.Known = false }

// missed is held where no target is admitted any more.
func missed(act *idle.Activity) { *act = idle.Activity{Known: true, InFlight: 1, Waiting: 1} }

func (c cue) refused() cue {
	c.against = true
	return c
}

// cues returns everything that can happen.
func cues() []cue {
	all := append(asked(), seen()...)
	all = append(all, returned()...)
	return append(all, timed()...)
}

func asked() []cue {
	sleep := idle.Event{Kind: idle.SleepAsked, Cause: "command"}
	forced := sleep
	forced.Force = true
	return []cue{
		plain("request", idle.Event{Kind: idle.RequestHeld, Cause: "request"}).with(held),
		plain("request, no target admitted",
			idle.Event{Kind: idle.RequestHeld, Cause: "request"}).with(missed),
		plain("wake command", idle.Event{Kind: idle.WakeAsked, Cause: "command"}),
		plain("sleep command", sleep),
		plain("sleep command, in use", sleep).with(served),
		plain("sleep command, request slips in", sleep).refused(),
		plain("sleep command, forced", forced).with(served),
		plain("deepen command", idle.Event{Kind: idle.DeepenAsked, Depth: idle.Park, Cause: "memory"}),
		{name: "lease taken", event: func(s *scene) idle.Event {
			return idle.Event{Kind: idle.LeaseTaken, Lease: "demo", Until: s.now.Add(time.Hour)}
		}},
		plain("lease dropped", idle.Event{Kind: idle.LeaseDropped, Lease: "demo"}),
		plain("policy changed", idle.Event{
			Kind: idle.PolicyChanged, Policy: &idle.Policy{WakeTimeout: time.Second},
		}),
		plain("removed", idle.Event{Kind: idle.Removed}),
	}
}

func seen() []cue {
	up := idle.Observation{Count: 1, Cause: "scaled by hand"}
	down := idle.Observation{Cause: "scaled by hand"}
	stale := idle.Event{Kind: idle.TargetReady, Generation: 99}
	return []cue{
		plain("observed, count 1", idle.Event{Kind: idle.Observed, Observation: up}),
		plain("observed, count 0", idle.Event{Kind: idle.Observed, Observation: down}),
		plain("observed, count 0, somebody waits",
			idle.Event{Kind: idle.Observed, Observation: down}).with(held),
		plain("targets declared", idle.Event{Kind: idle.TargetsDeclared, Targets: targets()}),
		plain("targets declared, none", idle.Event{Kind: idle.TargetsDeclared}),
		result("target booted", idle.TargetBooted, nil),
		result("target ready", idle.TargetReady, nil),
		plain("target ready, of another generation", stale),
		result("targets lost", idle.TargetsLost, nil),
		result("targets lost, somebody waits", idle.TargetsLost, nil).with(missed),
	}
}

func returned() []cue {
	failure := errors.New("no")
	notNow := &idle.NotNowError{Reason: "deployment", After: time.Second}
	stale := idle.Event{Kind: idle.WakeReturned, Generation: 99, Err: failure}
	return []cue{
		result("wake returned", idle.WakeReturned, nil),
		result("wake returned, error", idle.WakeReturned, failure),
		plain("wake returned, error, of another generation", stale),
		result("sleep returned", idle.SleepReturned, nil),
		result("sleep returned, error", idle.SleepReturned, failure),
		result("sleep returned, not now", idle.SleepReturned, notNow),
		result("sleep returned, error, somebody waits", idle.SleepReturned, failure).with(held),
		plain("gate shut, not asked", idle.Event{Kind: idle.GateShut}),
		plain("gate busy, not asked", idle.Event{Kind: idle.GateBusy}),
		plain("gate closed, not asked", idle.Event{Kind: idle.GateClosed}),
		plain("gate opened, not asked", idle.Event{Kind: idle.GateOpened}),
		plain("nothing to open, not asked", idle.Event{Kind: idle.NothingToOpen}),
	}
}

func timed() []cue {
	return []cue{
		plain("deadline passed, too early", idle.Event{Kind: idle.DeadlinePassed}),
		deadline("deadline passed"),
		deadline("deadline passed, in use").with(served),
		deadline("deadline passed, use unknown").with(unknown),
		deadline("deadline passed, request slips in or no target").refused(),
	}
}

// answerTo returns the answer to an effect that awaits one.
func (c cue) answerTo(k idle.EffectKind, s *scene) (idle.Event, bool) {
	ev := idle.Event{Activity: unused(s.m.State())}
	if c.against {
		ev.Activity.InFlight = 1
	}
	switch k {
	case idle.TryShut:
		ev.Kind = c.either(idle.GateShut, idle.GateBusy)
	case idle.CloseGate:
		ev.Kind = idle.GateClosed
		ev.Activity.Admitted = false
	case idle.OpenAnyway:
		ev.Kind = c.either(idle.GateOpened, idle.NothingToOpen)
	default:
		return idle.Event{}, false
	}
	return ev, true
}

func (c cue) either(wanted, against idle.EventKind) idle.EventKind {
	if c.against {
		return against
	}
	return wanted
}
