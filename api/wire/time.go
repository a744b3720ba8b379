package wire

import (
	"fmt"
	"time"
)

// timeLayout is RFC 3339 with exactly three digits of fraction.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// Time is a point in time: RFC 3339, UTC, milliseconds, "2026-03-01T12:00:00.250Z". The
// zero value means "has not happened" or "not planned" and is left out of the JSON.
type Time struct{ time.Time }

// MarshalJSON writes the time rounded down to milliseconds.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"` + timeLayout + `"`)), nil
}

// Duration is a length of time, in JSON a string such as "1.5s", "250ms" or "2h0m0s".
type Duration time.Duration

// MarshalText writes the duration as time.Duration.String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("cannot read duration %q: %w", text, err)
	}
	*d = Duration(v)
	return nil
}

// String returns the duration as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }
