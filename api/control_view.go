package api

import (
	"maps"
	"slices"
	"time"

	"doze/api/wire"
	"doze/healthgate"
	"doze/idle"
)

// depthWord is the depth of a sleep, "" for none.
func depthWord(d idle.Depth) wire.Depth {
	if d == idle.Awake {
		return ""
	}
	return wire.Depth(d.String())
}

// viewGroup is a status in the API's words.
func viewGroup(s idle.Status, diagnostics []wire.Diagnostic, now time.Time) wire.Group {
	return wire.Group{
		ID:           wire.ID(s.ID),
		State:        wire.State(s.State.String()),
		Depth:        depthWord(s.Depth),
		Since:        wire.Time{Time: s.Since},
		Why:          why(s, now),
		Generation:   uint64(s.Generation),
		InFlight:     s.InFlight,
		LastActivity: wire.Time{Time: s.LastActivity},
		SleepsAt:     wire.Time{Time: s.SleepsAt},
		RetryAt:      wire.Time{Time: s.RetryAt},
		Leases:       viewLeases(s.Leases),
		Wakes:        s.Wakes,
		LastWake:     viewWake(s.LastWake, wakeEnd(s, now)),
		Error:        s.Err,
		Diagnostics:  diagnostics,
	}
}

func viewLeases(leases map[string]time.Time) []wire.Lease {
	list := make([]wire.Lease, 0, len(leases))
	for _, name := range slices.Sorted(maps.Keys(leases)) {
		list = append(list, wire.Lease{Name: name, Until: wire.Time{Time: leases[name]}})
	}
	return list
}

func viewTargets(members []healthgate.MemberStatus) []wire.Target {
	list := make([]wire.Target, 0, len(members))
	for _, m := range members {
		list = append(list, wire.Target{
			ID: m.ID, Addr: m.Addr, Admitted: m.Admitted, Verdict: wire.Verdict(m.Verdict.String()),
			Error: m.Err, Since: wire.Time{Time: m.Since}, InFlight: m.InFlight,
			Generation: uint64(m.Generation),
		})
	}
	return list
}

func viewTransition(t idle.Transition) wire.Transition {
	return wire.Transition{
		ID:         wire.ID(t.Group),
		From:       wire.State(t.From.String()),
		To:         wire.State(t.To.String()),
		At:         wire.Time{Time: t.At},
		Cause:      t.Cause,
		Generation: uint64(t.Generation),
		Depth:      depthWord(t.Depth),
		Error:      t.Err,
		Wake:       viewWake(t.Wake, t.At),
	}
}
