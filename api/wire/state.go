package wire

// State is where a group is in its lifecycle.
type State string

// The states of a group.
const (
	Asleep   State = "asleep"   // costs memory only; a request or a command wakes it
	Waking   State = "waking"   // asked to run, no target has passed its probe yet
	Ready    State = "ready"    // requests pass
	Draining State = "draining" // about to sleep, nothing told to Nomad; a request makes it ready
	Sleeping State = "sleeping" // told to sleep, no answer yet; a request is held and wakes it
	Failed   State = "failed"   // the last wake failed; the next may be tried at retry_at
)

// States lists every state, in the order of a life.
func States() []State { return []State{Asleep, Waking, Ready, Draining, Sleeping, Failed} }

// Depth is how deep a group sleeps. The zero value "" means that it does not.
type Depth string

// The depths of sleep.
const (
	Freeze Depth = "freeze" // paused in memory
	Park   Depth = "park"   // process gone, allocation kept
	Zero   Depth = "zero"   // count 0
)

// Verdict is what the last probe said of a target.
type Verdict string

// The verdicts of a probe.
const (
	Up      Verdict = "up"      // answered as expected
	Busy    Verdict = "busy"    // listens, answers late or refuses to be ready yet
	Hung    Verdict = "hung"    // busy for longer than its grace
	Dead    Verdict = "dead"    // refused the connection
	Unknown Verdict = "unknown" // the probe itself died, or none has ended yet
)
