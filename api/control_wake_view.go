package api

import (
	"time"

	"doze/api/wire"
	"doze/idle"
)

// viewWake is the record of a wake with its phases; nil where there is none. end is the
// moment at which a wake that is not ready failed, or now while it is under way; zero: it is
// not known.
func viewWake(w *idle.Wake, end time.Time) *wire.Wake {
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
		Phases:     viewPhases(w, end),
		Error:      w.Err,
	}
	for _, p := range view.Phases {
		view.Took += p.Took
	}
	return view
}

// viewPhases tells where a wake's time went. A point that was passed over because a later
// one was seen first counts as reached with it.
func viewPhases(w *idle.Wake, end time.Time) []wire.Phase {
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
		reached := !p.at.IsZero()
		took := max(firstSet(p.at, end).Sub(begun), 0)
		phases = append(phases, wire.Phase{Name: p.name, Took: wire.Duration(took), Done: reached})
		if !reached {
			break
		}
		begun = p.at
	}
	return phases
}

// wakeEnd is until when the last wake of a group has lasted; see viewWake.
func wakeEnd(s idle.Status, now time.Time) time.Time {
	switch s.State {
	case idle.Waking:
		return now
	case idle.Failed:
		return s.Since
	}
	return time.Time{}
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
