package idle

import (
	"fmt"
	"slices"
)

// State is where a group is in its lifecycle. Only Machine.Step assigns it.
type State uint8

const (
	Asleep   State = iota // count 0, frozen or parked; left by a request, a command, an observation
	Waking                // asked to run, no target verified yet; left by the first verified target, timeout, error
	Ready                 // requests pass; left by idleness, a command, an observation, lost targets
	Draining              // gate shut, nothing told to the workload; left by a request, or when drained
	Sleeping              // told to sleep, no answer yet; left by the answer
	Failed                // the last wake failed; left by a request after the backoff, a late target, idleness
)

// States returns all of them, in the order of a group's life.
func States() []State { return []State{Asleep, Waking, Ready, Draining, Sleeping, Failed} }

// stateNames are in the order of the constants.
func stateNames() []string {
	return []string{"asleep", "waking", "ready", "draining", "sleeping", "failed"}
}

// String returns the word for s in the API, in logs and in the documentation.
func (s State) String() string { return word(stateNames(), uint8(s)) }

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; an unknown word is an error.
func (s *State) UnmarshalText(text []byte) error {
	i, err := unword(stateNames(), text)
	if err != nil {
		return fmt.Errorf("cannot read state: %w", err)
	}
	*s = State(i)
	return nil
}

// word returns the i-th name; a value outside the constants shows its number.
func word(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%d", i)
}

func unword(names []string, text []byte) (int, error) {
	i := slices.Index(names, string(text))
	if i < 0 {
		return 0, fmt.Errorf("%q is none of %q", text, names)
	}
	return i, nil
}
