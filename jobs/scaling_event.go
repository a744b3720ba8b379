package jobs

import (
	nomad "github.com/hashicorp/nomad/api"
)

// Keys in the meta of the scaling events that Doze writes. The meta survives a new
// registration of the job and goes with its purge; Nomad keeps the newest 20 events.
const (
	metaKind   = "doze"        // "wake", "sleep" or "leases"
	metaCount  = "doze_count"  // of a sleep: the count before
	metaLeases = "doze_leases" // of leases: name to end, RFC 3339
)

// wakeCount is the count that a wake asks for: the policy's; else the last one above 0,
// from what was seen or from the last sleep's event, whichever is newer; at least 1 and
// within what the job allows now.
func (k known) wakeCount(events []nomad.ScalingEvent, tg *nomad.TaskGroup) int {
	most := maxOf(tg)
	if k.policy.WakeCount > 0 {
		return Clamp(k.policy.WakeCount, most)
	}
	kept, at := countBefore(events)
	if k.lastUp > 0 && (kept == 0 || k.lastUpAt > at) {
		kept = k.lastUp
	}
	return Clamp(kept, most)
}

// maxOf returns the greatest count that the job allows for the group.
func maxOf(tg *nomad.TaskGroup) int {
	if tg.Scaling == nil || tg.Scaling.Max == nil {
		return 1
	}
	return int(*tg.Scaling.Max)
}

// countBefore returns the count before the newest event that took the group to 0, and that
// event's index; 0: no event tells.
func countBefore(events []nomad.ScalingEvent) (count int, at uint64) {
	for _, e := range events {
		if e.Count == nil || *e.Count != 0 {
			continue
		}
		if kept, ok := e.Meta[metaCount].(float64); ok && kept >= 1 {
			return int(kept), e.CreateIndex
		}
		if e.PreviousCount > 0 {
			return int(e.PreviousCount), e.CreateIndex
		}
	}
	return 0, 0
}
