package jobs

import (
	"time"

	"doze/healthgate"
	"doze/idle"
)

// Sink is told what the Watcher finds. All calls come from one goroutine, in the order in
// which things were seen; a call must not block and must not call the Watcher back.
type Sink interface {
	// Put tells of a group that was found, or whose policy, bounds or job changed. The
	// workload of an ID stays the same until Remove. Putting the same twice is harmless.
	Put(g Group, w idle.Workload, o idle.Observation)
	// Remove tells that a group is no longer managed, and why.
	Remove(id idle.GroupID, cause string)
	// Observe tells of a count that was changed by somebody else.
	Observe(id idle.GroupID, o idle.Observation)
	// Targets declares the whole set of a group's addresses; a Put for it came before.
	Targets(id idle.GroupID, targets []healthgate.Target)
	// Diagnose replaces everything that is wrong with a job; job.Group is "". None: all
	// is well again, or the job is gone.
	Diagnose(job idle.GroupID, ds Diagnostics)
	// Resynced is called when a complete listing has been told.
	Resynced(at time.Time)
}
