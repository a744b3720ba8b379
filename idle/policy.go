package idle

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Rung is one step down: after a group has been idle for After it sleeps at Depth.
type Rung struct {
	Depth Depth
	After time.Duration // > 0
}

// Policy says when a group sleeps and how long a wake may take. See Validate for what it
// must satisfy.
type Policy struct {
	// Rungs are the steps down, in growing Depth and After. A job group has one, to
	// Zero; a driver task may have Freeze and Park. None: never sleeps by itself.
	Rungs []Rung
	// MinAwake is the least time from ready to the next sleep; 0: none.
	MinAwake time.Duration
	// WakeTimeout bounds one wake, and with it how long a request is held; required. A
	// Sleep call is given up (its context ends) after the same time.
	WakeTimeout time.Duration
	// DrainDelay is how long the gate stays shut before the group is told to sleep; 0: none.
	DrainDelay time.Duration
	// FailOpen admits unverified targets at the wake timeout (on_timeout = "open").
	FailOpen bool
}

// Validate reports everything that is wrong, joined.
func (p Policy) Validate() error {
	errs := []error{p.validateRungs()}
	if p.WakeTimeout <= 0 {
		errs = append(errs, fmt.Errorf("wake timeout is %s, must be positive", p.WakeTimeout))
	}
	if p.MinAwake < 0 {
		errs = append(errs, fmt.Errorf("min awake is %s, must not be negative", p.MinAwake))
	}
	if p.DrainDelay < 0 {
		errs = append(errs, fmt.Errorf("drain delay is %s, must not be negative", p.DrainDelay))
	}
	return errors.Join(errs...)
}

func (p Policy) validateRungs() error {
	var errs []error
	var above Rung
	for i, r := range p.Rungs {
		if r.Depth == Awake || r.Depth > Zero {
			errs = append(errs, fmt.Errorf("rung %d: %s is no depth to sleep at", i, r.Depth))
		}
		if r.After <= 0 {
			errs = append(errs, fmt.Errorf("rung %d: after is %s, must be positive", i, r.After))
		}
		if i > 0 && (r.Depth <= above.Depth || r.After <= above.After) {
			errs = append(errs, fmt.Errorf("rung %d: %s after %s is not deeper and later than "+
				"%s after %s", i, r.Depth, r.After, above.Depth, above.After))
		}
		above = r
	}
	return errors.Join(errs...)
}

func (p *Policy) equal(q *Policy) bool {
	return p.MinAwake == q.MinAwake && p.WakeTimeout == q.WakeTimeout &&
		p.DrainDelay == q.DrainDelay && p.FailOpen == q.FailOpen &&
		slices.Equal(p.Rungs, q.Rungs)
}

// idleAfter is the idle period before the first step down; 0: the group never sleeps by
// itself.
func (p *Policy) idleAfter() time.Duration {
	if len(p.Rungs) == 0 {
		return 0
	}
	return p.Rungs[0].After
}

// firstDepth is where a group sleeps that is told to sleep without saying how deep.
func (p *Policy) firstDepth() Depth {
	if len(p.Rungs) == 0 {
		return Zero
	}
	return p.Rungs[0].Depth
}

// below returns the first rung deeper than d.
func (p *Policy) below(d Depth) (Rung, bool) {
	i := slices.IndexFunc(p.Rungs, func(r Rung) bool { return r.Depth > d })
	if i < 0 {
		return Rung{}, false
	}
	return p.Rungs[i], true
}
