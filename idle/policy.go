package idle

import "time"

// Depth is how deep a group sleeps; a greater one costs less and wakes slower.
type Depth uint8

const (
	Awake  Depth = iota // not asleep
	Freeze              // paused in memory
	Park                // process gone, allocation kept
	Zero                // count 0
)

// Rung is one step down: after a group has been idle for After it sleeps at Depth.
type Rung struct {
	Depth Depth
	After time.Duration // > 0
}

// Policy says when a group sleeps and how long a wake may take. See Validate for what it
// must satisfy.
type Policy struct {
	// Rungs are the steps down, in growing Depth and After. A job group has one, to
	// Zero; a driver task may have Freeze and Park. None: never sleeps by itself.
	Rungs []Rung
	// MinAwake is the least time from ready to the next sleep; 0: none.
	MinAwake time.Duration
	// WakeTimeout bounds one wake, and with it how long a request is held; required.
	WakeTimeout time.Duration
	// DrainDelay is how long the gate stays shut before the group is told to sleep; 0: none.
	DrainDelay time.Duration
	// FailOpen admits unverified targets at the wake timeout (on_timeout = "open").
	FailOpen bool
}

// Validate reports everything that is wrong, joined.
func (p Policy) Validate() error { panic("skeleton") }
