package jobs

import (
	"reflect"

	"doze/idle"
)

// Group is one managed group as it was last seen in Nomad.
type Group struct {
	ID idle.GroupID
	// JobCreateIndex orders jobs by age; of two that claim a route the older keeps it.
	JobCreateIndex uint64
	Policy         Policy // complete; Policy.Probe is never nil
	Min, Max       int    // of the scaling block
	Count          int    // wanted count; 0 means asleep
	JobModifyIndex uint64 // of the job version that all of this was read from
}

// sameSettings reports whether two sightings differ in nothing but count and index.
func (g Group) sameSettings(o Group) bool {
	return g.ID == o.ID && g.JobCreateIndex == o.JobCreateIndex &&
		g.Min == o.Min && g.Max == o.Max && reflect.DeepEqual(g.Policy, o.Policy)
}
