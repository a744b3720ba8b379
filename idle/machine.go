package idle

import (
	"time"

	"doze/healthgate"
)

// Machine is the lifecycle of one group as a pure state machine: it reads no clock, does
// no I/O and starts nothing. Step is its only way to change; one owner at a time. It is
// made by NewMachine.
type Machine struct {
	policy *Policy
	state  State
	depth  Depth // how deep it sleeps; Awake in every state but Asleep and (deepening) Sleeping
	gen    healthgate.Generation
	since  time.Time // of state
	due    time.Time // when the state must be looked at again; zero: never

	call      callKind // what the workload has been asked and has not answered
	callGen   healthgate.Generation
	cancelled bool // the call was told to end
	need      bool // Waking, Sleeping: the workload must be asked as soon as no call is under way
	awaiting  EffectKind
	gone      bool

	attempt
	descent

	active    time.Time // the idle clock starts here, or later at the last request's end
	readyAt   time.Time // MinAwake counts from here
	notBefore time.Time // no step down before this
	failures  int       // wakes that failed in a row
	retryAt   time.Time // Failed: a request before this is refused
	err       string    // the last failure, "" since the last success
	wakes     uint64
	wake      *Wake // the last wake; replaced, never changed, once it is published
	leases    map[string]time.Time
	targets   []healthgate.Target // last declared; none while Asleep
	effects   []Effect            // of the step being taken
}

// attempt is what belongs to one wake.
type attempt struct {
	begun   time.Time // WakeTimeout counts from here, for the Sleep call too
	asked   bool      // the workload was asked; false: adopted, it runs without having been asked
	carried bool      // targets from before were carried into it: one may pass that is on its way out
	overdue bool      // not asked, not ready in time: the workload was asked why
	failure string    // Wake's error while targets that are known may still pass, until graceBy
	graceBy time.Time
}

// descent is what belongs to the way down: Draining and Sleeping.
type descent struct {
	goal     Depth  // of the sleep being prepared or under way
	cause    string // why it was begun
	origin   State  // Sleeping: where it came from, and where a failure leads back to
	heldThen bool   // Sleeping: a request came meanwhile
	wanted   string // Sleeping: a command or lease wants it awake afterwards; its cause
}

// callKind says which of Workload's methods is under way.
type callKind uint8

const (
	noCall callKind = iota
	wakeCall
	sleepCall
)

// nothing is awaited: no effect whose answer would be taken.
const nothing = Report

// NewMachine returns a group that is asleep at the given depth (Awake means Zero). A
// group that was found awake is adopted by an Observed event. The policy must be valid and
// is not changed by the machine; equal ones may be shared.
func NewMachine(now time.Time, p *Policy, asleep Depth) Machine {
	return Machine{
		policy: p, since: now, active: now, awaiting: nothing,
		depth: Observation{Depth: asleep}.depth(),
	}
}

// State returns the current state.
func (m *Machine) State() State { return m.state }

// Generation returns the number of the current or last wake.
func (m *Machine) Generation() healthgate.Generation { return m.gen }

// Due returns when a DeadlinePassed event is wanted; zero: not at all.
func (m *Machine) Due() time.Time { return m.due }

// Step takes one event and returns what must be done about it, in order. Events that make
// no sense in the current state, and stale results, change nothing.
func (m *Machine) Step(now time.Time, ev Event) []Effect {
	if m.gone {
		return nil
	}
	m.dropEndedLeases(now)
	m.take(now, &ev)
	m.missTargets(now, ev.Activity)
	m.askWorkload(now)
	m.plan(now, ev.Activity)
	effects := m.effects
	m.effects = nil
	return effects
}

// take hands the event to its handler.
func (m *Machine) take(now time.Time, ev *Event) {
	switch ev.Kind {
	case RequestHeld:
		m.onRequest(now, ev)
	case WakeAsked:
		m.onWakeAsked(now, ev)
	case SleepAsked:
		m.onSleepAsked(now, ev)
	case DeepenAsked:
		m.onDeepenAsked(now, ev)
	case LeaseTaken:
		m.onLeaseTaken(now, ev)
	case LeaseDropped:
		delete(m.leases, ev.Lease)
	case Observed:
		m.onObserved(now, ev)
	case TargetsDeclared:
		m.onTargets(now, ev)
	case TargetBooted, TargetReady:
		m.onTarget(now, ev)
	case TargetsLost: // see missTargets, which looks at every step
	case WakeReturned:
		m.onWakeReturned(now, ev)
	case SleepReturned:
		m.onSleepReturned(now, ev)
	case GateShut, GateBusy, GateClosed, GateOpened, NothingToOpen:
		m.onAnswer(now, ev)
	case PolicyChanged:
		m.policy = ev.Policy
	case DeadlinePassed:
		m.onDeadline(now, ev)
	case Removed:
		m.cancelCall(ErrGone)
		m.gone = true
	}
}

// become is the only place that assigns the state. t says where to and why.
func (m *Machine) become(now time.Time, t Transition) {
	t.From, t.At, t.Generation = m.state, now, m.gen
	m.state, m.since = t.To, now
	m.awaiting = nothing
	if t.To != Waking && t.To != Sleeping {
		m.need = false
	}
	m.emit(Effect{Kind: Report, Transition: &t})
}

func (m *Machine) emit(e Effect) {
	e.Generation = m.gen
	m.effects = append(m.effects, e)
}

// await emits an effect whose answer is waited for.
func (m *Machine) await(k EffectKind) {
	m.awaiting = k
	m.emit(Effect{Kind: k})
}

// askWorkload begins the call that the state needs, once no other is under way.
func (m *Machine) askWorkload(now time.Time) {
	if !m.need || m.call != noCall || m.gone {
		return
	}
	m.need, m.cancelled, m.callGen = false, false, m.gen
	if m.state == Sleeping {
		m.call, m.begun = sleepCall, now
		m.emit(Effect{Kind: CallSleep, Depth: m.goal, Cause: m.cause})
		return
	}
	m.call = wakeCall
	m.emit(Effect{Kind: CallWake})
}

// cancelCall tells the call under way, if any, to end; its answer is still waited for.
func (m *Machine) cancelCall(why error) {
	if m.call == noCall || m.cancelled {
		return
	}
	m.cancelled = true
	m.emit(Effect{Kind: CancelCall, Err: why})
}

// answered takes the answer to a call and reports whether it is that of the call under way.
func (m *Machine) answered(k callKind, gen healthgate.Generation) bool {
	if m.call != k || m.callGen != gen {
		return false
	}
	m.call = noCall
	return true
}
