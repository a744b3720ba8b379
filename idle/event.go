package idle

import (
	"time"

	"doze/healthgate"
)

// EventKind says what happened to a group.
type EventKind uint8

const (
	RequestHeld     EventKind = iota // somebody waits at the gate
	WakeAsked                        // a command, even while a failure is cached
	SleepAsked                       // a command; see Force and Depth
	DeepenAsked                      // the machine lacks memory: sleep deeper, if asleep
	LeaseTaken                       // Lease is held until Until
	LeaseDropped                     // Lease is given back
	Observed                         // Observation was seen from outside
	TargetsDeclared                  // Targets is the whole set now
	TargetBooted                     // a target first did anything but refuse
	TargetReady                      // a target passed its probe
	TargetsLost                      // the last admitted target was lost
	WakeReturned                     // the answer to CallWake or CallExplain
	SleepReturned                    // the answer to CallSleep
	GateShut                         // an answer to TryShut: nothing is in flight, the gate is shut
	GateBusy                         // an answer to TryShut: something is in flight
	GateClosed                       // the answer to CloseGate
	GateOpened                       // an answer to OpenAnyway: a target was admitted unverified
	NothingToOpen                    // an answer to OpenAnyway: there is no target
	PolicyChanged                    // Policy is the new one
	DeadlinePassed                   // the time that Due named has come
	Removed                          // no longer managed; nothing changes any more
)

// EventKinds returns all of them.
func EventKinds() []EventKind {
	kinds := make([]EventKind, 0, Removed+1)
	for k := RequestHeld; k <= Removed; k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// eventNames are in the order of the constants.
func eventNames() []string {
	return []string{
		"request", "wake command", "sleep command", "deepen command", "lease taken",
		"lease dropped", "observed", "targets declared", "target booted", "target ready",
		"targets lost", "wake returned", "sleep returned", "gate shut", "gate busy",
		"gate closed", "gate opened", "nothing to open", "policy changed",
		"deadline passed", "removed",
	}
}

// String returns the words for k in docs/states.md and in transcripts.
func (k EventKind) String() string { return word(eventNames(), uint8(k)) }

// Event is one thing that happened to a group, and what its activity was just then.
type Event struct {
	Kind EventKind
	// Activity is read for every event, just before the step.
	Activity Activity
	// Generation is the wake that an asynchronous result belongs to: TargetBooted,
	// TargetReady, TargetsLost, WakeReturned, SleepReturned. A stale one changes nothing.
	Generation healthgate.Generation
	// Cause goes into the record of what the event leads to. For DeadlinePassed while
	// waking it is what the last probe said, "" when nothing was probed.
	Cause string
	// Err is the error of WakeReturned and SleepReturned, nil for success.
	Err error
	// Force belongs to SleepAsked: requests and leases do not keep the group awake.
	Force bool
	// Depth belongs to SleepAsked (Awake means the policy's first) and DeepenAsked.
	Depth Depth
	// Lease and Until belong to LeaseTaken, Lease to LeaseDropped too.
	Lease string
	Until time.Time
	// Observation, Targets and Policy belong to the events that name them. The machine
	// keeps Targets and Policy; they must not be changed afterwards.
	Observation Observation
	Targets     []healthgate.Target
	Policy      *Policy
}

// Activity is what is known of a group's use at one instant. In the zero value nothing is
// known, which never means idle.
type Activity struct {
	InFlight int64     // requests held or being served
	Waiting  int64     // of those, how many wait at the gate
	Last     time.Time // when the last request ended; zero: none yet
	Known    bool      // InFlight and Last could be read
	Admitted bool      // the health gate has a target that requests may go to
}
