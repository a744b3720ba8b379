package healthgate

import (
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

// GateConfig describes the gate of one group. The zero value probes by tcp.
type GateConfig struct {
	Probe ProbeConfig
	// Like, if not nil, is a gate that may share its probe's settings with this one, where
	// they are equal (a Dial makes them unequal): of many gates, each may name the one
	// before it. Nothing else is taken from it.
	Like *Gate
	// Limit, if not nil, bounds how many probes run at once over all gates that share it.
	Limit *Limiter
	// Off admits to any target that exists while probing goes on in the background: the
	// kill switch (-gate=off, DOZE_GATE=off). Nothing then takes a target out.
	Off bool
	// Counters, if not nil, are added to; one set may serve many gates.
	Counters *Counters
	// OnBooted is called once per generation when a target first did anything but refuse
	// the connection; OnReady when the first target passed its probe (or was admitted by
	// Off or OpenAnyway), and again when one passes after OnLost; OnLost when the last
	// admitted target of the generation was lost. They are called one after another, in the
	// order in which things happened, from a goroutine of the gate with no lock held. They
	// must not block or call Close.
	OnBooted func(Generation)
	OnReady  func(Generation)
	OnLost   func(Generation)
	// OnGone is called, like the others, when a member has left the gate, so that its
	// connections can go.
	OnGone func(*Member)
	// Log receives changes of a target's state; nil discards.
	Log *slog.Logger
}

// Counters count gate outcomes over a process's life. The zero value is ready to use.
type Counters struct {
	Started    atomic.Uint64 // generations armed
	Healthy    atomic.Uint64 // generations in which a target passed its probe
	FailedOpen atomic.Uint64 // generations admitted without a passed probe
	Aborted    atomic.Uint64 // generations shut or replaced before any target was admitted
	Error      atomic.Uint64 // probes that died themselves (verdict Unknown)
}

// Gate is shut until a target of the current generation has passed its probe. It is
// replaced at every wake (Arm), never cancelled into success. All methods are safe for
// concurrent use. A shut gate has no goroutine and no timer.
type Gate struct {
	cfg         settings
	probeConfig *ProbeConfig             // replaced, never changed: gates share it
	open        atomic.Pointer[admitted] // nil: nobody is admitted

	off    bool       // the kill switch; see GateConfig.Off
	closed bool       // guarded, like what follows, by mu
	mu     sync.Mutex // never held across anything that blocks
	gen    Generation
	round  *round // nil: shut
	room   *room  // where the next waiter waits; nil until there is one
	outbox outbox

	running sync.WaitGroup // watches and the outbox's delivery
}

// settings are what a gate keeps of its GateConfig, beside the probe.
type settings struct {
	limit                     *Limiter
	counters                  *Counters
	onBooted, onReady, onLost func(Generation)
	onGone                    func(*Member)
	log                       *slog.Logger
}

// NewGate returns a shut gate of generation 0. It returns Validate's error of the probe.
func NewGate(cfg GateConfig) (*Gate, error) {
	probe, err := cfg.probe()
	if err != nil {
		return nil, err
	}
	if cfg.Counters == nil {
		cfg.Counters = new(Counters)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Gate{probeConfig: probe, off: cfg.Off, cfg: settings{
		limit: cfg.Limit, counters: cfg.Counters, log: cfg.Log,
		onBooted: cfg.OnBooted, onReady: cfg.OnReady, onLost: cfg.OnLost, onGone: cfg.OnGone,
	}}, nil
}

// probe returns the probe of Like where it is equal, else a copy of its own.
func (c *GateConfig) probe() (*ProbeConfig, error) {
	if c.Like != nil {
		if shared := c.Like.sharedProbe(); reflect.DeepEqual(*shared, c.Probe) {
			return shared, nil
		}
	}
	own := c.Probe
	return &own, own.Validate()
}

func (g *Gate) sharedProbe() *ProbeConfig {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.probeConfig
}

// Arm begins generation gen: every target is forgotten, the gate is shut, waiters stay and
// wait for the new generation. A gen not above the current one changes nothing.
func (g *Gate) Arm(gen Generation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || gen <= g.gen {
		return
	}
	g.end()
	g.gen = gen
	g.round = &round{gen: gen}
	g.cfg.counters.Started.Add(1)
	g.turn(0, nil)
}

// Shut ends the generation: probing stops, targets are forgotten, waiters stay.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.round != nil {
		g.end()
		g.turn(0, nil)
	}
}

// end forgets the round. Probes under way are called off, not waited for; what they still
// find is dropped.
func (g *Gate) end() {
	r := g.round
	if r == nil {
		return
	}
	for _, s := range r.seats {
		g.dismiss(s)
	}
	if !r.healthy && !r.failedOpen {
		g.cfg.counters.Aborted.Add(1)
	}
	g.open.Store(nil)
	g.round = nil
}

// Fail releases everybody who waits now with err (see Waiter.Wait); the gate itself stays
// as it is, so a target that passes later still opens it. A stale gen changes nothing.
func (g *Gate) Fail(gen Generation, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gen == g.gen && err != nil && !g.closed {
		g.turn(0, err)
	}
}

// Close shuts the gate for good and returns when its last probe and callback have;
// waiters, now and later, get ErrClosed.
func (g *Gate) Close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		g.end()
		last := g.waiting()
		last.err = ErrClosed
		close(last.ended)
	}
	g.mu.Unlock()
	g.running.Wait()
}

// MemberStatus is a snapshot of one member.
type MemberStatus struct {
	Target
	Generation Generation
	Admitted   bool      // requests may go to it
	Verdict    Verdict   // of the last probe; Unknown before the first
	Err        string    // the last probe's error, "" when it passed
	Since      time.Time // of the current Admitted value
	InFlight   int64
}

// Members returns a snapshot of all members and their state, in the order of Update.
func (g *Gate) Members() []MemberStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.round == nil {
		return nil
	}
	all := make([]MemberStatus, len(g.round.seats))
	for i, s := range g.round.seats {
		all[i] = MemberStatus{
			Target: s.member.Target, Generation: s.member.Generation, Admitted: s.admitted,
			Verdict: s.verdict, Err: s.err, Since: s.since, InFlight: s.member.InFlight.Load(),
		}
	}
	return all
}
