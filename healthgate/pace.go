package healthgate

import (
	"math/rand/v2"
	"time"
)

const (
	shareWaited = 16                    // a pause is 1/16 of the time already waited, …
	firstPause  = 2 * time.Millisecond  // … at least this, …
	fastPause   = 25 * time.Millisecond // … at most this during fastFor, …
	fastFor     = time.Second
	backoffMost = 8  // … and later at most 8 intervals: what never comes up is left in peace
	stretchMost = 10 // how far a timeout may grow
)

// pace says how long to pause before the next probe of one target, and how long that probe
// may take. It reads no clock.
type pace struct {
	interval time.Duration
	least    time.Duration // the configured timeout
	timeout  time.Duration // of the next probe
	since    time.Time     // when this wake's first probe was sent
	settled  bool          // the target has answered
}

func newPace(c ProbeConfig) pace {
	return pace{interval: c.Interval, least: c.Timeout, timeout: c.Timeout}
}

// begin starts over at the pace of a wake.
func (p *pace) begin(now time.Time) {
	p.since, p.settled = now, false
}

// passed settles the pace. The timeout becomes what a target this slow needs.
func (p *pace) passed(took time.Duration) {
	p.settled = true
	p.timeout = min(max(2*took, p.least), stretchMost*p.least)
}

// late has the next probe wait longer.
func (p *pace) late() {
	p.timeout = min(2*p.timeout, stretchMost*p.least)
}

// next returns the pause before the next probe.
func (p *pace) next(now time.Time) time.Duration {
	waited := now.Sub(p.since)
	switch {
	case p.settled:
		return jitter(p.interval)
	case waited < fastFor:
		return min(max(waited/shareWaited, firstPause), fastPause, p.interval)
	}
	return jitter(min(max(waited/shareWaited, fastPause), backoffMost*p.interval))
}

// jitter spreads d by 10 % to both sides, so that many targets do not fall into step.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}
