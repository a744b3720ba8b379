package api

import (
	"time"

	"doze/api/wire"
	"doze/idle"
)

// viewWake is the record of a wake with its phases; nil where there is none.
func viewWake(w *idle.Wake, now time.Time) *wire.Wake {
	if w == nil {
		return nil
	}
	view := &wire.Wake{
		Generation: uint64(w.Generation),
		Cause:      w.Cause,
		Started:    wire.Time{Time: w.Started},
		Placed:     wire.Time{Time: w.Placed},
		Booted:     wire.Time{Time: w.Booted},
		Ready:      wire.Time{Time: w.Ready},
		Phases:     viewPhases(w, now),
		Error:      w.Err,
	}
	for _, p := range view.Phases {
		view.Took += p.Took
	}
	return view
}

// viewPhases tells where a wake's time went. A point that was passed over because a later
// one was seen first counts as reached with it; the phase that a wake is in lasts until now,
// the one that a failed wake ended in is given without a duration, since the record does not
// hold the moment of the failure.
func viewPhases(w *idle.Wake, now time.Time) []wire.Phase {
	points := []struct {
		name string
		at   time.Time
	}{
		{"place", firstSet(w.Placed, w.Booted, w.Ready)},
		{"boot", firstSet(w.Booted, w.Ready)},
		{"probe", w.Ready},
	}
	phases, begun := []wire.Phase{}, w.Started
	for _, p := range points {
		if p.at.IsZero() {
			return append(phases, openPhase(p.name, now.Sub(begun), w.Err != ""))
		}
		took := wire.Duration(max(p.at.Sub(begun), 0))
		phases, begun = append(phases, wire.Phase{Name: p.name, Took: took, Done: true}), p.at
	}
	return phases
}

func openPhase(name string, lasted time.Duration, failed bool) wire.Phase {
	if failed {
		lasted = 0
	}
	return wire.Phase{Name: name, Took: wire.Duration(max(lasted, 0))}
}

// firstSet is the first time that is not zero.
func firstSet(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
