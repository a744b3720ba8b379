package jobs

import "doze/idle"

// Group is one managed group as it was last seen in Nomad.
type Group struct {
	ID idle.GroupID
	// JobCreateIndex orders jobs by age; of two that claim a route the older keeps it.
	JobCreateIndex uint64
	// Policy is complete; Policy.Probe is never nil. Groups with equal probes have the same
	// one; it must not be changed.
	Policy         Policy
	Min, Max       int    // of the scaling block
	Count          int    // wanted count; 0 means asleep
	JobModifyIndex uint64 // of the job version that all of this was read from
}
