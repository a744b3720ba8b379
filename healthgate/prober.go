package healthgate

import (
	"context"
	"time"
)

// Prober probes targets over and over, all in the same way. It is safe for concurrent use.
//
// The first probe of a target is sent at once, the second 2 ms after it failed. A pause is
// 1/16 of the time already waited: 2 ms at least, 25 ms at most during the first second, and
// 8 intervals at most for a target that never comes up. After its first success a target is
// probed every Interval, give or take 10 %.
//
// While a target is not ready, a probe that is slow to answer is joined by a scout: a second
// probe with little patience, so that a packet lost in a booting network, or a request that
// nobody will answer, does not hide that the target has become ready. Kind exec has none.
type Prober struct {
	cfg   ProbeConfig
	probe Probe
	limit *Limiter
}

// NewProber returns a Prober, or the error of cfg.Validate.
func NewProber(cfg ProbeConfig) (*Prober, error) {
	probe, err := cfg.New()
	if err != nil {
		return nil, err
	}
	return &Prober{cfg: cfg.withDefaults(), probe: probe}, nil
}

// Result is what one probe has found.
type Result struct {
	Verdict Verdict // Hung: was ready, and has been busy for Fall probes in a row
	Err     error   // nil: passed
	Took    time.Duration
	// Ready is the target's standing with Rise and Fall taken into account.
	Ready bool

	epoch uint64 // of the watch at the probe's start; see seat
}

// Run probes the target at addr until ctx ends, and returns when the last probe has. report
// is called for each result, one after another; it must not block.
func (p *Prober) Run(ctx context.Context, addr string, report func(Result)) {
	newWatch(p, addr, report).run(ctx)
}

// once sends one probe and says how long the target took.
func (p *Prober) once(
	ctx context.Context, addr string, timeout time.Duration,
) (took time.Duration, err error) {
	if err := p.limit.enter(ctx); err != nil {
		return 0, err
	}
	defer p.limit.leave()
	start := time.Now()
	err = ask(ctx, p.probe, addr, timeout)
	return time.Since(start), err
}
