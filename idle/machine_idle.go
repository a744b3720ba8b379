package idle

import (
	"fmt"
	"time"
)

// maxLeases bounds the keep-awake leases of one group.
const maxLeases = 64

// plan sets the deadline that the state has; it is the only place that does.
func (m *Machine) plan(now time.Time, act Activity) {
	m.due = time.Time{}
	if m.gone {
		return
	}
	switch m.state {
	case Asleep:
		m.due = m.deepenAt()
	case Waking:
		m.due = m.giveUpAt()
	case Ready, Failed:
		m.due = m.lookAt(now, act)
	case Draining:
		m.due = m.since.Add(m.policy.DrainDelay)
	case Sleeping:
		if m.call == sleepCall && !m.cancelled {
			m.due = m.begun.Add(m.policy.WakeTimeout)
		}
	}
}

// onDeadline looks at the state whose time has come. An early event changes nothing.
func (m *Machine) onDeadline(now time.Time, ev *Event) {
	if m.due.IsZero() || now.Before(m.due) {
		return
	}
	switch m.state {
	case Asleep:
		m.deepen(now)
	case Waking:
		m.onWakeDeadline(now, ev.Cause)
	case Ready, Failed:
		m.onIdleDeadline(now, ev.Activity)
	case Draining:
		m.onDrained(now, ev.Activity)
	case Sleeping:
		m.cancelCall(ErrTimedOut)
	}
}

// onIdleDeadline begins the way down if the group has been idle for long enough.
func (m *Machine) onIdleDeadline(now time.Time, act Activity) {
	if !act.Known { // unknown never means idle: a full period from here
		m.active = now
		return
	}
	if act.InFlight > 0 || now.Before(m.sleepAt(act)) {
		return
	}
	m.descent = descent{
		goal:  m.policy.firstDepth(),
		cause: fmt.Sprintf("idle for %s", m.policy.idleAfter()),
	}
	if m.state == Ready {
		m.await(TryShut)
		return
	}
	m.active = later(m.active, act.Last)
	m.await(CloseGate)
}

// sleepAt is when the group falls asleep if it is not used until then; zero: never. A
// stamp older than the wake does not count, because active is not older.
func (m *Machine) sleepAt(act Activity) time.Time {
	if len(m.policy.Rungs) == 0 {
		return time.Time{}
	}
	at := later(m.active, act.Last).Add(m.policy.idleAfter())
	at = later(at, m.notBefore)
	if m.state != Failed && m.policy.MinAwake > 0 {
		at = later(at, m.readyAt.Add(m.policy.MinAwake))
	}
	for _, until := range m.leases {
		at = later(at, until)
	}
	return at
}

// lookAt is when to look at the activity next. In use now, the group can't have been idle
// for long enough before a full period has passed.
func (m *Machine) lookAt(now time.Time, act Activity) time.Time {
	at := m.sleepAt(act)
	if !at.IsZero() && (act.InFlight > 0 || !act.Known) {
		at = later(at, now.Add(m.policy.idleAfter()))
	}
	return at
}

// deepenAt is when a sleeping group goes one rung down; zero: it is down.
func (m *Machine) deepenAt() time.Time {
	rung, ok := m.policy.below(m.depth)
	if !ok {
		return time.Time{}
	}
	return later(m.active.Add(rung.After), m.notBefore)
}

func (m *Machine) deepen(now time.Time) {
	rung, _ := m.policy.below(m.depth)
	m.descent = descent{goal: rung.Depth, cause: fmt.Sprintf("idle for %s", rung.After)}
	m.fallAsleep(now)
}

// onLeaseTaken holds a named lease; the longest wins. It wakes what sleeps, and obeys the
// backoff of what failed.
func (m *Machine) onLeaseTaken(now time.Time, ev *Event) {
	if !ev.Until.After(now) || !m.hold(ev.Lease, ev.Until) {
		return
	}
	cause := "lease " + ev.Lease
	switch m.state {
	case Asleep:
		m.beginWake(now, cause)
	case Failed:
		if !now.Before(m.retryAt) {
			m.beginWake(now, cause)
		}
	case Draining:
		m.resume(now, cause)
	case Sleeping: // woken after Sleep's answer
		m.stayUp(now, cause)
	case Waking, Ready: // kept awake
	}
}

// hold reports whether the lease is out afterwards.
func (m *Machine) hold(name string, until time.Time) bool {
	if held, ok := m.leases[name]; ok {
		m.leases[name] = later(held, until)
		return true
	}
	if len(m.leases) >= maxLeases {
		return false
	}
	if m.leases == nil {
		m.leases = make(map[string]time.Time, 1)
	}
	m.leases[name] = until
	return true
}

func (m *Machine) dropEndedLeases(now time.Time) {
	for name, until := range m.leases {
		if !until.After(now) {
			delete(m.leases, name)
		}
	}
	if len(m.leases) == 0 {
		m.leases = nil
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
