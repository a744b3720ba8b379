package api

import (
	"maps"
	"slices"
	"time"

	"doze/api/wire"
	"doze/healthgate"
	"doze/idle"
)

// stateWord is the state as the API names it.
func stateWord(s idle.State) wire.State {
	switch s {
	case idle.Asleep:
		return wire.Asleep
	case idle.Waking:
		return wire.Waking
	case idle.Ready:
		return wire.Ready
	case idle.Draining:
		return wire.Draining
	case idle.Sleeping:
		return wire.Sleeping
	}
	return wire.Failed
}

func depthWord(d idle.Depth) wire.Depth {
	switch d {
	case idle.Freeze:
		return wire.Freeze
	case idle.Park:
		return wire.Park
	case idle.Zero:
		return wire.Zero
	}
	return ""
}

func verdictWord(v healthgate.Verdict) wire.Verdict {
	switch v {
	case healthgate.Up:
		return wire.Up
	case healthgate.Busy:
		return wire.Busy
	case healthgate.Hung:
		return wire.Hung
	case healthgate.Dead:
		return wire.Dead
	}
	return wire.Unknown
}

// viewGroup is a status in the API's words.
func viewGroup(s idle.Status, diagnostics []wire.Diagnostic, now time.Time) wire.Group {
	return wire.Group{
		ID:           wire.ID(s.ID),
		State:        stateWord(s.State),
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
		LastWake:     viewWake(s.LastWake, now),
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
			ID: m.ID, Addr: m.Addr, Admitted: m.Admitted, Verdict: verdictWord(m.Verdict),
			Error: m.Err, Since: wire.Time{Time: m.Since}, InFlight: m.InFlight,
			Generation: uint64(m.Generation),
		})
	}
	return list
}

func viewTransition(t idle.Transition, now time.Time) wire.Transition {
	return wire.Transition{
		ID:         wire.ID(t.Group),
		From:       stateWord(t.From),
		To:         stateWord(t.To),
		At:         wire.Time{Time: t.At},
		Cause:      t.Cause,
		Generation: uint64(t.Generation),
		Depth:      depthWord(t.Depth),
		Error:      t.Err,
		Wake:       viewWake(t.Wake, now),
	}
}
