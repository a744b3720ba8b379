package idle

import (
	"maps"
	"time"

	"doze/healthgate"
)

// Status is a snapshot of a group.
type Status struct {
	ID           GroupID
	State        State
	Depth        Depth // of the sleep, for Asleep; the one aimed at, for Sleeping; else Awake
	Generation   healthgate.Generation
	Since        time.Time // of State
	InFlight     int64     // requests held or being served
	LastActivity time.Time // when the last request ended; zero: none since it was adopted
	SleepsAt     time.Time // when it will fall asleep if nothing happens; zero: not planned
	RetryAt      time.Time // Failed: when the next wake may be tried
	Leases       map[string]time.Time
	Wakes        uint64       // since the group was added
	LastWake     *Wake        // nil: none yet
	History      []Transition // newest last, the last 8
	Err          string       // the last failure, "" when none since the last success
}

// Status returns a snapshot. It never waits for the loop: the group's mutex is held by the
// loop for the length of one Step only.
func (g *Group) Status() Status {
	act := g.activity(RequestHeld)
	s := Status{ID: g.id, InFlight: act.InFlight, LastActivity: act.Last}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.machine.describe(&s, act)
	s.History = g.past.transitions(g.id, g.loop.epoch)
	return s
}

// describe fills in what the machine knows.
func (m *Machine) describe(s *Status, act Activity) {
	s.State, s.Depth, s.Generation, s.Since = m.state, m.depth, m.gen, m.since
	s.Wakes, s.LastWake, s.Err = m.wakes, m.wake, m.err
	s.Leases = maps.Clone(m.leases)
	switch m.state {
	case Failed:
		s.RetryAt = m.retryAt
	case Sleeping:
		s.Depth = m.goal
	case Draining:
		s.SleepsAt = m.due
	}
	if (m.state == Ready || m.state == Failed) && act.InFlight == 0 {
		s.SleepsAt = m.sleepAt(act)
	}
}
