package wire

// Transition is one change of a group's state and why it happened.
type Transition struct {
	ID
	// From is the state before.
	From State `json:"from"`
	// To is the state after.
	To State `json:"to"`
	// At is when it happened.
	At Time `json:"at"`
	// Cause is why, in words: "request", "command: deploy check", "idle for 5m0s".
	Cause string `json:"cause"`
	// Generation is the number of the current or last wake; 0: never woken.
	Generation uint64 `json:"generation"`
	// Depth is that of the sleep; left out unless To is sleeping or asleep.
	Depth Depth `json:"depth,omitempty"`
	// Error is the reason of a failure; left out otherwise.
	Error string `json:"error,omitempty"`
	// Wake is the record of the wake that ended with this transition; left out otherwise, and
	// in a group's history, where last_wake has the last one.
	Wake *Wake `json:"wake,omitempty"`
}

// Wake is the record of one wake. A point in time that was not reached is left out.
type Wake struct {
	// Generation is the wake's number.
	Generation uint64 `json:"generation"`
	// Cause is what asked for it first.
	Cause string `json:"cause"`
	// Started is when the first held request or the command asked for it.
	Started Time `json:"started,omitzero"`
	// Placed is when the first target was known.
	Placed Time `json:"placed,omitzero"`
	// Booted is when a target first accepted a connection.
	Booted Time `json:"booted,omitzero"`
	// Ready is when a target passed its probe.
	Ready Time `json:"ready,omitzero"`
	// Phases are where the time went, in order.
	Phases []Phase `json:"phases"`
	// Took is the whole wake's duration so far.
	Took Duration `json:"took"`
	// Error is why it failed, in the operator's words; left out when it did not.
	Error string `json:"error,omitempty"`
}

// Phase is one part of a wake.
type Phase struct {
	// Name is "place" (until a target was known), "boot" (until it accepted a connection)
	// or "probe" (until it passed its probe).
	Name string `json:"name"`
	// Took is how long it took; for a phase that is not done, how long it has lasted until
	// now or until the wake failed (0s where that is not known any more).
	Took Duration `json:"took"`
	// Done is false for the phase that the wake is in, or in which it failed.
	Done bool `json:"done"`
}

// The kinds of server-sent events of GET /v1/events, as their "event:" field.
const (
	EventTransition = "transition" // data is an Event
	EventReset      = "reset"      // data is a Reset
)

// Event is the data of a "transition" event.
type Event struct {
	// EventID is the position in the stream, the same as the "id:" field. It is opaque and
	// changes its form with every start of doze.
	EventID string `json:"event_id"`
	Transition
}

// Reset is the data of a "reset" event: events between the position that was asked for and
// the next event are lost. Read /v1/groups again; the stream goes on by itself.
type Reset struct {
	// Reason says why, in words.
	Reason string `json:"reason"`
}
