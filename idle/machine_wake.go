package idle

import (
	"fmt"
	"time"
)

// graceForTargets is how long after Workload.Wake's error targets that are already known
// may still pass their probe: an application that runs is served even while the workload
// can't be asked (Nomad is away). It is the default timeout of one probe.
const graceForTargets = time.Second

// explainWithin is how long, after the wake timeout, a workload may take to say why what was
// found awake is not ready.
const explainWithin = 2 * time.Second

// beginWake starts a new wake in a new generation. Targets that are known are carried into
// it unverified. Nobody is let through until one of them passes its probe.
func (m *Machine) beginWake(now time.Time, cause string) {
	m.arm()
	m.become(now, Transition{To: Waking, Cause: cause})
	m.depth = Awake
	m.ask(now, cause)
}

// adopt starts a generation for what runs without having been asked.
func (m *Machine) adopt(now time.Time, cause string) {
	m.arm()
	m.become(now, Transition{To: Waking, Cause: cause})
	m.depth = Awake
	m.attempt = attempt{begun: now}
}

// arm replaces the gate by one for the next generation.
func (m *Machine) arm() {
	m.gen++
	m.emit(Effect{Kind: HoldRequests})
	m.emit(Effect{Kind: ArmGate, Targets: m.targets})
}

// ask has the workload asked to run, once per wake.
func (m *Machine) ask(now time.Time, cause string) {
	m.cancelCall(ErrSuperseded)
	m.attempt = attempt{begun: now, asked: true, carried: len(m.targets) > 0}
	m.need = true
	m.wakes++
	m.wake = &Wake{Generation: m.gen, Cause: cause, Started: now}
	if len(m.targets) > 0 {
		m.wake.Placed = now
	}
}

// becomeReady lets requests through; the full idle period begins. What the workload goes on
// waiting for is of no interest any more, so that its place is free for another wake; but
// a target from before proves nothing about what the workload was asked for.
func (m *Machine) becomeReady(now time.Time, cause string) {
	if !m.carried {
		m.cancelCall(ErrSuperseded)
	}
	t := Transition{To: Ready, Cause: cause}
	if m.asked {
		t.Wake = m.amendWake(func(w *Wake) { w.Ready, w.Err = now, "" })
	}
	m.become(now, t)
	m.active, m.readyAt, m.notBefore = now, now, time.Time{}
	m.failures, m.err = 0, ""
	m.emit(Effect{Kind: AdmitRequests})
}

// Causes of the transition to Failed.
const (
	wakeFailed   = "wake failed"
	wakeTimedOut = "wake timed out"
)

// fail ends a wake without success. The failure is cached until retryAt; the gate stays
// armed, so that a target that passes late still counts.
func (m *Machine) fail(now time.Time, cause, reason string) {
	m.cancelCall(ErrTimedOut)
	m.failures++
	m.err = reason
	m.retryAt = now.Add(backoff(m.failures))
	m.active = now
	t := Transition{To: Failed, Cause: cause, Err: reason}
	if m.asked {
		t.Wake = m.amendWake(func(w *Wake) { w.Err = reason })
	}
	m.become(now, t)
	m.failWaiters(now)
}

// failWaiters releases those who wait, with the failure that is cached.
func (m *Machine) failWaiters(now time.Time) {
	e := &FailedError{Reason: m.err, RetryAfter: max(m.retryAt.Sub(now), time.Millisecond)}
	if m.wake != nil {
		e.Wake = *m.wake
	}
	m.emit(Effect{Kind: FailWaiters, Err: e})
}

// amendWake replaces the record of the last wake by a changed copy: records are published.
func (m *Machine) amendWake(change func(*Wake)) *Wake {
	w := *m.wake
	change(&w)
	m.wake = &w
	return m.wake
}

// backoff is how long the n-th failure in a row is cached: 1 s, doubling up to 30 s.
func backoff(n int) time.Duration {
	return min(time.Second<<min(n-1, 5), 30*time.Second)
}

// onRequest: somebody waits who could not be let through.
func (m *Machine) onRequest(now time.Time, ev *Event) {
	switch m.state {
	case Asleep:
		m.beginWake(now, ev.Cause)
	case Waking:
		if !m.asked {
			m.ask(now, ev.Cause)
		}
	case Ready: // see missTargets
	case Draining:
		m.resume(now, ev.Cause)
	case Sleeping:
		m.heldThen = true
		m.stayUp(now, ev.Cause)
	case Failed:
		if now.Before(m.retryAt) {
			m.failWaiters(now)
			return
		}
		m.beginWake(now, ev.Cause)
	}
}

// onWakeAsked counts as activity and obeys no backoff.
func (m *Machine) onWakeAsked(now time.Time, ev *Event) {
	switch m.state {
	case Asleep, Failed:
		m.beginWake(now, ev.Cause)
	case Waking:
		if !m.asked {
			m.ask(now, ev.Cause)
		}
	case Ready:
		if !ev.Activity.Admitted {
			m.beginWake(now, ev.Cause)
		}
	case Draining:
		m.resume(now, ev.Cause)
	case Sleeping:
		m.wanted = ev.Cause
		m.stayUp(now, ev.Cause)
	}
	m.active = now
}

// resume ends the draining; nothing was told to the workload, so nothing is asked of it.
func (m *Machine) resume(now time.Time, cause string) {
	m.become(now, Transition{To: Ready, Cause: cause})
	m.emit(Effect{Kind: AdmitRequests})
}

// missTargets wakes a ready group anew when somebody waits and there is nobody to send
// him to. While nobody asks, a group without targets stays ready and costs nothing.
func (m *Machine) missTargets(now time.Time, act Activity) {
	if m.state == Ready && act.Waiting > 0 && !act.Admitted {
		m.beginWake(now, "targets lost")
	}
}

// onTarget takes what the probes say of this generation's targets.
func (m *Machine) onTarget(now time.Time, ev *Event) {
	if ev.Generation != m.gen || (m.state != Waking && m.state != Failed) {
		return
	}
	if ev.Kind == TargetReady {
		m.becomeReady(now, "target passed its probe")
		return
	}
	if m.asked && m.wake.Booted.IsZero() {
		m.amendWake(func(w *Wake) { w.Booted = now })
	}
}

// onTargets keeps the declared targets, for this generation and for a next one that
// follows without a sleep between. What is asleep has none: an address from before the
// sleep never serves after it.
func (m *Machine) onTargets(now time.Time, ev *Event) {
	if m.state == Asleep {
		return
	}
	m.targets = ev.Targets
	if m.state == Sleeping {
		return
	}
	m.emit(Effect{Kind: UpdateGate, Targets: m.targets})
	if len(m.targets) > 0 && m.state != Ready && m.asked && m.wake.Placed.IsZero() {
		m.amendWake(func(w *Wake) { w.Placed = now })
	}
	if m.state == Waking && m.failure != "" && len(m.targets) == 0 {
		m.fail(now, wakeFailed, m.failure)
	}
}

// onWakeReturned takes Wake's answer. Success is decided by the probes, not here.
func (m *Machine) onWakeReturned(now time.Time, ev *Event) {
	current := m.answered(wakeCall, ev.Generation) && ev.Generation == m.gen
	if !current || m.state != Waking || m.need || ev.Err == nil {
		return
	}
	if len(m.targets) == 0 {
		m.fail(now, wakeFailed, ev.Err.Error())
		return
	}
	m.failure, m.graceBy = ev.Err.Error(), now.Add(graceForTargets)
}

// giveUpAt is when a wake ends without success.
func (m *Machine) giveUpAt() time.Time {
	at := m.begun.Add(m.policy.WakeTimeout)
	switch {
	case m.overdue && m.call == wakeCall:
		at = at.Add(explainWithin)
	case m.failure != "" && m.graceBy.Before(at):
		at = m.graceBy
	}
	return at
}

// wantsToKnowWhy: nobody asked for what is overdue, and nothing of it can be let through.
func (m *Machine) wantsToKnowWhy() bool {
	opens := m.policy.FailOpen && len(m.targets) > 0
	return !m.asked && !m.overdue && !opens && m.call == noCall
}

// askWhy has the workload say what is wrong with what was found awake: no Wake has. It is
// not asked before, as most of what is found awake is well, and there may be thousands.
func (m *Machine) askWhy() {
	m.overdue = true
	m.call, m.callGen, m.cancelled = wakeCall, m.gen, false
	m.emit(Effect{Kind: CallExplain})
}

// onWakeDeadline ends a wake that took too long, or whose grace is over.
func (m *Machine) onWakeDeadline(now time.Time, verdict string) {
	late := !now.Before(m.begun.Add(m.policy.WakeTimeout))
	switch {
	case m.wantsToKnowWhy():
		m.askWhy()
	case late && m.policy.FailOpen:
		m.await(OpenAnyway)
	case m.failure != "":
		m.fail(now, wakeFailed, m.failure)
	default:
		m.fail(now, wakeTimedOut, m.timeoutReason(verdict))
	}
}

// timeoutReason says how far a wake came that timed out.
func (m *Machine) timeoutReason(verdict string) string {
	reason := "no target passed its probe"
	if len(m.targets) == 0 {
		reason = "no target was placed"
	}
	reason = fmt.Sprintf("%s after %s: %s", wakeTimedOut, m.policy.WakeTimeout, reason)
	if verdict != "" {
		reason += ": " + verdict
	}
	return reason
}
