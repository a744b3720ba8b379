package healthgate

import (
	"errors"
	"fmt"
)

// Verdict is what a probe says of a target. Its value is doze probe's exit status, and of
// two verdicts the greater one is the worse.
type Verdict int

const (
	Up      Verdict = iota // answered as expected
	Busy                   // listens, answers late or refuses to be ready yet
	Hung                   // busy for longer than its grace
	Dead                   // refused the connection, or never took it
	Unknown                // the probe itself died: fails closed
)

// String returns the verdict's name in lower case.
func (v Verdict) String() string {
	switch v {
	case Up:
		return "up"
	case Busy:
		return "busy"
	case Hung:
		return "hung"
	case Dead:
		return "dead"
	case Unknown:
		return "unknown"
	}
	return fmt.Sprintf("verdict(%d)", int(v))
}

// MarshalText encodes the verdict as its name, for JSON and logs.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

var (
	// ErrSuperseded: the generation waited for has been replaced.
	ErrSuperseded = errors.New("the wake was superseded by a newer one")
	// ErrClosed: the gate was closed for good.
	ErrClosed = errors.New("the gate is closed")
	// ErrDial marks an error as a failed dial; see Gate.Report.
	ErrDial = errors.New("cannot connect")
)

// WaitError says that a wait ended before a target was ready.
type WaitError struct {
	Generation Generation
	Verdict    Verdict // of the most hopeful target; Unknown when there was none
	Last       string  // the last probe's error in words, "" when nothing was probed
	Cause      error   // context.Cause of the context that ended
}

func (e *WaitError) Error() string {
	if e.Last == "" {
		return fmt.Sprintf("no target to probe yet: %v", e.Cause)
	}
	return fmt.Sprintf("target is not ready (%s): %v", e.Last, e.Cause)
}

func (e *WaitError) Unwrap() error { return e.Cause }
