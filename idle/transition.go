package idle

import (
	"time"

	"doze/healthgate"
)

// Transition is one change of a group's state and why it happened.
type Transition struct {
	Group      GroupID
	Generation healthgate.Generation
	From, To   State
	At         time.Time
	Cause      string // "request", "command: alice", "idle for 5m0s", "wake timed out", …
	Depth      Depth  // of the sleep, for Sleeping and Asleep
	Err        string // the reason of a failure, "" otherwise
	Wake       *Wake  // of the wake that ended with this transition, nil otherwise and in Status.History
}

// maxHistory is how many transitions of a group are remembered.
const maxHistory = 8

// past is a Transition in half the memory, within the group it belongs to.
type past struct {
	at         int64 // nanoseconds since the loop's epoch
	generation healthgate.Generation
	cause      string
	err        *string // nil: none
	from, to   State
	depth      Depth
}

// history is the last transitions, oldest first. The zero value is empty and costs nothing.
type history []past

func (h *history) add(t *Transition, epoch time.Time) {
	if len(*h) == maxHistory {
		copy(*h, (*h)[1:])
		*h = (*h)[:maxHistory-1]
	}
	p := past{
		at: int64(t.At.Sub(epoch)), generation: t.Generation, cause: t.Cause,
		from: t.From, to: t.To, depth: t.Depth,
	}
	if t.Err != "" {
		err := t.Err // not the whole transition
		p.err = &err
	}
	*h = append(*h, p)
}

func (h history) transitions(id GroupID, epoch time.Time) []Transition {
	all := make([]Transition, len(h))
	for i, p := range h {
		all[i] = Transition{
			Group: id, Generation: p.generation, From: p.from, To: p.to,
			At: epoch.Add(time.Duration(p.at)), Cause: p.cause, Depth: p.depth,
		}
		if p.err != nil {
			all[i].Err = *p.err
		}
	}
	return all
}
