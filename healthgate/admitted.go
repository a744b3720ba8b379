package healthgate

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// admitted is an immutable snapshot of the members that requests may go to, at least one.
type admitted struct {
	gen     Generation
	members []*Member
}

// Pick returns the admitted member with the fewest requests in flight of two picked at
// random, or nil when there is none. It takes no lock and allocates nothing.
func (g *Gate) Pick() *Member {
	open := g.open.Load()
	if open == nil {
		return nil
	}
	n := len(open.members)
	if n == 1 {
		return open.members[0]
	}
	i, j := rand.IntN(n), rand.IntN(n-1)
	if j >= i {
		j++
	}
	a, b := open.members[i], open.members[j]
	if b.InFlight.Load() < a.InFlight.Load() {
		return b
	}
	return a
}

// refresh admits who may be, and tells when the gate has opened or lost its last target.
// The caller holds g.mu.
func (g *Gate) refresh() {
	var members []*Member
	for _, s := range g.round.seats {
		if may := s.verified || s.forced || g.off; may != s.admitted {
			s.admitted, s.since = may, time.Now()
		}
		if s.admitted {
			members = append(members, s.member)
		}
	}
	was := g.open.Load() != nil
	if len(members) == 0 {
		g.open.Store(nil)
		if was {
			g.log(slog.LevelWarn, "no target is left")
			g.postGeneration(g.cfg.onLost, g.gen)
		}
		return
	}
	g.open.Store(&admitted{g.gen, members})
	if !was {
		g.opened()
	}
}

func (g *Gate) opened() {
	if !g.round.healthy && !g.round.failedOpen {
		g.round.failedOpen = true
		g.cfg.counters.FailedOpen.Add(1)
	}
	g.turn(g.gen, nil)
	g.postGeneration(g.cfg.onReady, g.gen)
}

// errorRun is how many errors in a row, short of a failed dial, take a target out.
const errorRun = 3

// Report is the passive signal from the request path: a failed dial (ErrDial in its
// chain) takes m out at once and has it probed at the wake pace; other errors do so after
// a run of three; nil ends a run. Reports of errors that are not the target's (a client
// that left) do not belong here; of a lack on this side (IsShortage) nothing follows. nil
// costs an atomic load and takes no lock.
func (g *Gate) Report(m *Member, err error) {
	if err == nil {
		if m.errs.Load() != 0 {
			m.errs.Store(0)
		}
		return
	}
	if IsShortage(err) {
		return
	}
	if !errors.Is(err, ErrDial) && m.errs.Add(1) < errorRun {
		return
	}
	m.errs.Store(0)
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.seatOf(m); s != nil && s.admitted && !g.off {
		g.takeOut(s, err)
	}
}

func (g *Gate) takeOut(s *seat, err error) {
	g.logTarget(slog.LevelWarn, s.member, "target is taken out", "reason", err)
	s.verified, s.forced = false, false
	s.err = err.Error()
	if s.verdict = Busy; errors.Is(err, ErrDial) {
		s.verdict = Dead
	}
	s.watch.takeOut()
	g.refresh()
}

// seatOf returns m's seat, or nil when it has left.
func (g *Gate) seatOf(m *Member) *seat {
	if g.round == nil {
		return nil
	}
	for _, s := range g.round.seats {
		if s.member == m {
			return s
		}
	}
	return nil
}
