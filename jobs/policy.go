package jobs

import (
	"time"

	"doze/healthgate"
)

// Policy is one group's scaling.policy.doze block with every default filled in. It is
// complete and valid when ParsePolicy returned it without a Diagnostic.
type Policy struct {
	IdleAfter   time.Duration // idle for this long: put to sleep; default 15m
	MinAwake    time.Duration // least time from ready to the next sleep; default 30s
	WakeTimeout time.Duration // bounds one wake and the holding of a request; default 60s
	DrainDelay  time.Duration // gate shut, Nomad not told yet; default 0s

	// WakeCount is the count a wake asks for; 0: the count before the last sleep, else the
	// job's, at least 1. Use Clamp on whatever it is taken from.
	WakeCount int
	Port      string // label of the port that serves requests
	Waiting   string // auto (default), hold, page or reject
	OnTimeout string // closed (default) or open
	MaxHeld   int    // requests held at once for this group; default 1024

	Routes []Route // none: nothing but a command wakes the group
	// Probe is never nil in a parsed policy: the block's own, else the group's service
	// check for Port, else tcp.
	Probe  *healthgate.ProbeConfig
	Ignore Ignore
}

// ParsePolicy reads a doze block in the shape that Nomad's API returns it (or a plain map,
// as JSON jobs may write it), checks it against the group, and fills in the defaults.
// The Policy is usable only without Diagnostics. It never panics.
func ParsePolicy(block any, g GroupShape) (Policy, Diagnostics) { panic("skeleton") }

// Clamp returns count within 1 and max: the count a wake may ask for.
func Clamp(count, max int) int { panic("skeleton") }
