package idle

import "fmt"

// Depth is how deep a group sleeps; a greater one costs less and wakes slower.
type Depth uint8

const (
	Awake  Depth = iota // not asleep
	Freeze              // paused in memory
	Park                // process gone, allocation kept
	Zero                // count 0
)

// depthNames are in the order of the constants.
func depthNames() []string { return []string{"awake", "freeze", "park", "zero"} }

// String returns the word for d in the API, in logs and in the documentation.
func (d Depth) String() string { return word(depthNames(), uint8(d)) }

// MarshalText implements encoding.TextMarshaler.
func (d Depth) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; an unknown word is an error.
func (d *Depth) UnmarshalText(text []byte) error {
	i, err := unword(depthNames(), text)
	if err != nil {
		return fmt.Errorf("cannot read depth: %w", err)
	}
	*d = Depth(i)
	return nil
}
