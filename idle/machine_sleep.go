package idle

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// onSleepAsked prepares the sleep that a command wants. Whether it came to that is seen
// from the state afterwards.
func (m *Machine) onSleepAsked(now time.Time, ev *Event) {
	if m.state == Asleep || m.state == Sleeping {
		m.sleepOn(now, ev)
		return
	}
	inUse := !ev.Activity.Known || ev.Activity.InFlight > 0 || len(m.leases) > 0
	if inUse && !ev.Force {
		return
	}
	m.aim(ev)
	m.active = now
	switch {
	case ev.Force:
		m.forceAsleep(now)
	case m.state == Ready:
		m.await(TryShut)
	default: // the gate is shut already; a drain delay is cut short
		m.await(CloseGate)
	}
}

// sleepOn takes a command to sleep for what sleeps: deeper if it says so, and with force
// whatever would wake the group is taken away.
func (m *Machine) sleepOn(now time.Time, ev *Event) {
	if ev.Force {
		m.leases, m.heldThen, m.wanted = nil, false, ""
		m.refuseWaiters(ev.Cause)
	}
	m.onDeepenAsked(now, ev)
}

// aim remembers where a commanded way down leads and why.
func (m *Machine) aim(ev *Event) {
	m.descent = descent{goal: ev.Depth, cause: ev.Cause}
	if m.goal == Awake {
		m.goal = m.policy.firstDepth()
	}
}

// forceAsleep takes leases and waiting requests away.
func (m *Machine) forceAsleep(now time.Time) {
	m.leases = nil
	m.emit(Effect{Kind: HoldRequests})
	m.emit(Effect{Kind: ShutGate})
	m.refuseWaiters(m.cause)
	m.fallAsleep(now)
}

func (m *Machine) refuseWaiters(cause string) {
	m.emit(Effect{Kind: FailWaiters, Err: &FailedError{
		Reason: "put to sleep by force: " + cause, RetryAfter: time.Second,
	}})
}

// onDeepenAsked takes a sleeping group further down.
func (m *Machine) onDeepenAsked(now time.Time, ev *Event) {
	if m.state != Asleep || ev.Depth <= m.depth {
		return
	}
	m.aim(ev)
	m.fallAsleep(now)
}

// onAnswer takes the answer to an effect, if it is the one awaited.
func (m *Machine) onAnswer(now time.Time, ev *Event) {
	awaited := m.awaiting
	m.awaiting = nothing
	switch {
	case awaited == TryShut && ev.Kind == GateShut:
		m.drain(now, ev.Activity)
	case awaited == TryShut && ev.Kind == GateBusy:
		m.active = now
	case awaited == CloseGate && ev.Kind == GateClosed:
		m.onGateClosed(now, ev.Activity)
	case awaited == OpenAnyway && ev.Kind == GateOpened:
		m.becomeReady(now, wakeTimedOut+": admitted unverified")
	case awaited == OpenAnyway && ev.Kind == NothingToOpen:
		m.fail(now, wakeTimedOut, cmp.Or(m.failure, m.timeoutReason("")))
	default:
		m.awaiting = awaited
	}
}

// drain begins the way down: the gate is shut and nothing is in flight.
func (m *Machine) drain(now time.Time, act Activity) {
	m.active = later(m.active, act.Last)
	m.become(now, Transition{To: Draining, Cause: m.cause})
	if m.policy.DrainDelay == 0 {
		m.await(CloseGate)
	}
}

// onDrained looks once more at the end of the drain delay.
func (m *Machine) onDrained(now time.Time, act Activity) {
	if m.usedSince(act) {
		m.resume(now, "request")
		return
	}
	m.await(CloseGate)
}

// usedSince reports whether the group was used after the way down had begun.
func (m *Machine) usedSince(act Activity) bool {
	return !act.Known || act.InFlight > 0 || act.Last.After(m.active) || len(m.leases) > 0
}

// onGateClosed decides with the health gate shut: what counts itself from now on waits. A
// request that slipped through before is seen in the activity, and the group stays up.
func (m *Machine) onGateClosed(now time.Time, act Activity) {
	if m.usedSince(act) {
		m.beginWake(now, "request while falling asleep")
		return
	}
	m.fallAsleep(now)
}

// fallAsleep has the workload put to sleep at the goal.
func (m *Machine) fallAsleep(now time.Time) {
	m.origin, m.heldThen, m.wanted = m.state, false, ""
	m.cancelCall(ErrSuperseded)
	t := Transition{To: Sleeping, Cause: m.cause, Depth: m.goal}
	if m.state == Waking && m.asked {
		t.Wake = m.amendWake(func(w *Wake) { w.Err = "put to sleep: " + m.cause })
	}
	m.become(now, t)
	m.need = true
}

// stayUp turns back from Sleeping while the workload has not been told yet: it is still busy
// with an older call, or the call queues. Otherwise its answer is waited for.
func (m *Machine) stayUp(now time.Time, cause string) {
	if m.need {
		m.beginWake(now, cause)
		return
	}
	m.emit(Effect{Kind: WithdrawCall})
}

// onSleepReturned takes Sleep's answer; whoever waits meanwhile is woken at once.
func (m *Machine) onSleepReturned(now time.Time, ev *Event) {
	if !m.answered(sleepCall, ev.Generation) || m.state != Sleeping {
		return
	}
	if ev.Err != nil {
		m.sleepFailed(now, ev)
		return
	}
	m.sleepDone(now, m.goal, m.cause)
	if cause := m.wakeWanted(ev.Activity); cause != "" {
		m.beginWake(now, cause)
	}
}

// sleepDone records that the group sleeps; its targets are forgotten.
func (m *Machine) sleepDone(now time.Time, depth Depth, cause string) {
	m.depth, m.targets = depth, nil
	m.failures, m.err, m.notBefore = 0, "", time.Time{}
	m.become(now, Transition{To: Asleep, Cause: cause, Depth: depth})
}

// wakeWanted returns why the group must wake right after Sleep's answer, or "".
func (m *Machine) wakeWanted(act Activity) string {
	switch {
	case m.wanted != "":
		return m.wanted
	case len(m.leases) > 0:
		return "lease"
	case m.heldThen && act.Waiting > 0:
		return "request while falling asleep"
	}
	return ""
}

// sleepFailed leads back to where the way down began. The gate was shut, so it is armed
// anew, and the targets that were there must pass their probes again.
func (m *Machine) sleepFailed(now time.Time, ev *Event) {
	m.err = fmt.Sprintf("cannot put to sleep: %v", ev.Err)
	m.notBefore = now.Add(m.retrySleepAfter(ev.Err))
	m.heldThen = m.heldThen || ev.Activity.Waiting > 0
	wanted := m.wakeWanted(ev.Activity)
	t := Transition{To: Ready, Cause: "sleep failed", Err: m.err}
	switch {
	case m.origin == Asleep:
		t.To, t.Depth = Asleep, m.depth
		m.become(now, t)
		if wanted != "" {
			m.beginWake(now, wanted)
		}
	case wanted != "" || m.origin == Waking:
		m.beginWake(now, cmp.Or(wanted, "sleep failed"))
	case m.origin == Failed:
		t.To = Failed
		m.arm()
		m.become(now, t)
	default:
		m.arm()
		m.become(now, t)
		m.emit(Effect{Kind: AdmitRequests})
	}
}

// retrySleepAfter is how long a sleep that failed is not tried again.
func (m *Machine) retrySleepAfter(err error) time.Duration {
	if notNow, ok := errors.AsType[*NotNowError](err); ok && notNow.After > 0 {
		return notNow.After
	}
	if m.origin == Asleep {
		rung, _ := m.policy.below(m.depth)
		return rung.After
	}
	return m.policy.idleAfter()
}

// onObserved takes what was seen of the workload from outside. Nothing that others did is
// undone, save a count of 0 under a wake, which is asked for again.
func (m *Machine) onObserved(now time.Time, ev *Event) {
	if ev.Observation.Count > 0 {
		if m.state == Asleep {
			m.adopt(now, ev.Observation.Cause)
		}
		return
	}
	switch m.state {
	case Waking:
		if m.asked {
			m.need = true
			return
		}
		m.foundAsleep(now, ev)
	case Ready, Draining, Failed:
		m.foundAsleep(now, ev)
	case Asleep, Sleeping: // as it should be
	}
}

// foundAsleep records a sleep that others brought about. A request that was about to be
// sent on wakes the group.
func (m *Machine) foundAsleep(now time.Time, ev *Event) {
	released := m.state == Failed
	m.emit(Effect{Kind: HoldRequests})
	m.emit(Effect{Kind: ShutGate})
	m.cancelCall(ErrSuperseded)
	m.active = now
	m.sleepDone(now, ev.Observation.depth(), ev.Observation.Cause)
	if ev.Activity.Waiting > 0 && !released {
		m.beginWake(now, "request")
	}
}
