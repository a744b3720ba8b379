package idle

import "doze/healthgate"

// EffectKind says what a step asks of the loop. Effects are carried out in their order and
// before the next step.
type EffectKind uint8

const (
	HoldRequests  EffectKind = iota // shut the activity word, whatever is in flight
	AdmitRequests                   // open the activity word
	TryShut                         // shut it if nothing is in flight; answer GateShut or GateBusy
	ArmGate                         // arm the health gate for Generation and declare Targets to it
	UpdateGate                      // declare Targets to the health gate
	ShutGate                        // shut the health gate
	CloseGate                       // shut the health gate, then read the activity; answer GateClosed
	OpenAnyway                      // admit unverified targets; answer GateOpened or NothingToOpen
	FailWaiters                     // release everybody who waits with Err
	CallWake                        // call Workload.Wake; answer WakeReturned
	CallSleep                       // call Workload.Sleep at Depth; answer SleepReturned
	CallExplain                     // call Explainer.Explain; answer WakeReturned
	CancelCall                      // end the context of the call under way with Err
	WithdrawCall                    // end the call if it only queues; one under way goes on
	Report                          // Transition has happened
)

// effectNames are in the order of the constants.
func effectNames() []string {
	return []string{
		"hold requests", "admit requests", "try shut", "arm gate", "update gate",
		"shut gate", "close gate", "open anyway", "fail waiters", "call wake",
		"call sleep", "call explain", "cancel call", "withdraw call", "report",
	}
}

// String returns the words for k in docs/states.md and in transcripts.
func (k EffectKind) String() string { return word(effectNames(), uint8(k)) }

// Effect is one thing that a step asks of the loop.
type Effect struct {
	Kind       EffectKind
	Generation healthgate.Generation // of the wake it belongs to
	Depth      Depth                 // CallSleep
	Cause      string                // CallSleep: why, in words
	Err        error                 // FailWaiters (a *FailedError), CancelCall
	Targets    []healthgate.Target   // ArmGate, UpdateGate
	Transition *Transition           // Report; its Group is empty
}
