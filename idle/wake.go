package idle

import (
	"time"

	"doze/healthgate"
)

// Wake is the record of one wake. Zero times: not reached.
type Wake struct {
	Generation healthgate.Generation
	Cause      string
	Started    time.Time // the first held request, or the command
	Placed     time.Time // the first target was declared
	Booted     time.Time // a target first accepted a connection
	Ready      time.Time // a target passed its probe
	Err        string    // why it failed, "" when it did not
}

// FailedError says that the last wake failed and when the next one may be tried.
type FailedError struct {
	Reason     string        // for the operator; never shown to a client
	RetryAfter time.Duration // > 0
	Wake       Wake
}

func (e *FailedError) Error() string { return "the last wake failed: " + e.Reason }
