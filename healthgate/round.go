package healthgate

import (
	"context"
	"log/slog"
	"reflect"
	"time"
)

// round is one generation of a gate, from Arm to the next Arm or Shut.
type round struct {
	gen        Generation
	prober     *Prober
	seats      []*seat // in the order of the last Update
	booted     bool    // a target has done something but refuse
	healthy    bool    // a target has passed
	failedOpen bool    // somebody was admitted before that
}

// seat is a member's place in a round, guarded by Gate.mu.
type seat struct {
	member   *Member
	watch    *watch
	stop     context.CancelFunc
	left     bool // has gone: results change nothing any more
	verified bool // has passed its probe
	forced   bool // admitted by OpenAnyway
	admitted bool
	since    time.Time // of admitted
	verdict  Verdict
	err      string
}

// Update declares the whole set of targets of generation gen. New ones enter unverified
// and are probed at once; one with the same ID and Addr keeps its state; missing ones
// leave. Of several with the same ID the first counts. A stale gen, or a shut gate, changes
// nothing.
func (g *Gate) Update(gen Generation, targets []Target) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.round == nil || gen != g.gen {
		return
	}
	known := make(map[string]*seat, len(g.round.seats))
	for _, s := range g.round.seats {
		known[s.member.ID] = s
	}
	seats := make([]*seat, 0, len(targets))
	taken := make(map[string]bool, len(targets))
	for _, t := range targets {
		if taken[t.ID] {
			continue
		}
		taken[t.ID] = true
		s := known[t.ID]
		if s == nil || s.member.Addr != t.Addr {
			s = g.enter(t)
		} else {
			delete(known, t.ID)
		}
		seats = append(seats, s)
	}
	for _, gone := range known {
		g.dismiss(gone)
	}
	g.round.seats = seats
	g.refresh()
}

// enter gives t a seat and has it probed, by one goroutine that owns the watch and ends
// soon after the seat's stop.
func (g *Gate) enter(t Target) *seat {
	s := &seat{
		member: &Member{Target: t, Generation: g.gen},
		since:  time.Now(), verdict: Unknown,
	}
	g.probe(s)
	return s
}

// probe has s watched with the gate's probe, in place of whatever watched it before.
func (g *Gate) probe(s *seat) {
	if s.stop != nil {
		s.stop()
	}
	ctx, stop := context.WithCancel(context.Background())
	var w *watch
	w = newWatch(g.prober(), s.member.Addr, func(r Result) { g.learn(s, w, r) })
	s.watch, s.stop = w, stop
	g.running.Go(func() { w.run(ctx) })
}

// SetProbe replaces the probe. Admitted targets stay admitted until the new probe has said
// otherwise. A bad config is an error and changes nothing; neither does the same probe.
func (g *Gate) SetProbe(probe ProbeConfig) error {
	if err := probe.Validate(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if reflect.DeepEqual(*g.probeConfig, probe) {
		return nil
	}
	g.probeConfig = &probe
	if g.round == nil {
		return nil
	}
	g.round.prober = nil
	for _, s := range g.round.seats {
		g.probe(s)
	}
	return nil
}

// prober is made for the round and goes with it: a shut gate keeps no compiled probe.
func (g *Gate) prober() *Prober {
	if g.round.prober == nil {
		probe, err := g.probeConfig.New()
		if err != nil { // valid in NewGate, so a map was changed since
			probe = deadProbe{err}
		}
		g.round.prober = &Prober{cfg: g.probeConfig.withDefaults(), probe: probe, limit: g.cfg.limit}
	}
	return g.round.prober
}

// deadProbe never lets anybody pass.
type deadProbe struct{ err error }

func (p deadProbe) Probe(context.Context, string) error { return &ProbeError{Unknown, p.err} }

func (g *Gate) dismiss(s *seat) {
	s.left = true
	s.stop()
	if gone := g.cfg.onGone; gone != nil {
		g.post(func() { gone(s.member) })
	}
}

// learn takes in what w has found out about s. Results from before s left, was taken out,
// or got another probe, are dropped.
func (g *Gate) learn(s *seat, w *watch, r Result) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.left || s.watch != w || r.epoch != s.watch.epoch.Load() {
		return
	}
	s.verdict, s.err = r.Verdict, ""
	if r.Err != nil {
		s.err = r.Err.Error()
	}
	if r.Verdict == Unknown {
		g.cfg.counters.Error.Add(1)
	}
	if r.Verdict < Dead && !g.round.booted {
		g.round.booted = true
		g.postGeneration(g.cfg.onBooted, g.gen)
	}
	if r.Ready != s.verified {
		g.promote(s, r)
	}
}

// promote gives s the standing that r says, up or down.
func (g *Gate) promote(s *seat, r Result) {
	s.verified, s.forced = r.Ready, false
	if r.Ready {
		g.logTarget(slog.LevelInfo, s.member, "target is ready", "took", r.Took)
	} else {
		g.logTarget(slog.LevelWarn, s.member, "target is no longer ready",
			"verdict", r.Verdict, "reason", s.err)
	}
	if r.Ready && !g.round.healthy {
		g.round.healthy = true
		g.cfg.counters.Healthy.Add(1)
	}
	g.refresh()
}

// OpenAnyway admits to every target of generation gen that exists, verified or not
// (on_timeout = "open"), and reports whether there was one.
func (g *Gate) OpenAnyway(gen Generation) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.round == nil || gen != g.gen || len(g.round.seats) == 0 {
		return false
	}
	g.log(slog.LevelWarn, "failing open: targets are admitted that have not passed their probe",
		"targets", len(g.round.seats), "reason", g.round.hopeful().err)
	for _, s := range g.round.seats {
		s.forced = true
	}
	g.refresh()
	return true
}

// hopeful returns the seat with the best verdict, or nil.
func (r *round) hopeful() *seat {
	var best *seat
	for _, s := range r.seats {
		if best == nil || s.verdict < best.verdict {
			best = s
		}
	}
	return best
}
