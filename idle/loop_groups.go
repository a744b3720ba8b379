package idle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"doze/healthgate"
)

// GroupConfig is what a Loop needs to know of one group.
type GroupConfig struct {
	ID       GroupID
	Policy   Policy
	Gate     healthgate.GateConfig // its OnBooted, OnReady and OnLost belong to the loop and must be nil
	Workload Workload
	// Observed is the first observation: with Count > 0 the group is adopted (probed,
	// then ready with a full idle period), with 0 it is asleep.
	Observed Observation
	// Activity, if not nil, is asked for use that does not pass through Acquire: how much
	// is in flight, when the last of it ended (zero: never), and whether that could be
	// read at all. Unknown keeps the group awake. It is called from the loop, where a
	// step down is decided, and must not block.
	Activity func() (inFlight int64, last time.Time, known bool)
}

func (c *GroupConfig) validate() error {
	errs := []error{c.Policy.Validate()}
	if c.Workload == nil {
		errs = append(errs, errors.New("workload is missing"))
	}
	if c.Gate.OnBooted != nil || c.Gate.OnReady != nil || c.Gate.OnLost != nil {
		errs = append(errs, errors.New("gate callbacks belong to the loop"))
	}
	return errors.Join(errs...)
}

// Add starts managing a group. It may be called before Run. An ID that is managed
// already, or a bad config, is an error; ErrGone when the loop has ended.
func (l *Loop) Add(cfg GroupConfig) (*Group, error) {
	g, err := l.newGroup(&cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot add group %q: %w", cfg.ID, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrGone
	}
	if _, ok := l.groups[cfg.ID]; ok {
		return nil, fmt.Errorf("cannot add group %q: it is managed already", cfg.ID)
	}
	l.groups[cfg.ID] = g
	if cfg.Observed.Count > 0 {
		g.Observe(cfg.Observed)
	}
	return g, nil
}

func (l *Loop) newGroup(cfg *GroupConfig) (g *Group, err error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	g = &Group{id: cfg.ID, loop: l, workload: cfg.Workload, source: cfg.Activity}
	cfg.Gate.OnBooted, cfg.Gate.OnReady, cfg.Gate.OnLost = g.onBooted, g.onReady, g.onLost
	if g.gate, err = l.newGate(cfg.Gate); err != nil {
		return nil, err
	}
	g.leases.shut()
	g.machine = NewMachine(time.Now(), l.share(cfg.Policy), cfg.Observed.Depth)
	return g, nil
}

// newGate makes a gate that shares what it can with the one before it.
func (l *Loop) newGate(cfg healthgate.GateConfig) (*healthgate.Gate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cfg.Like == nil {
		cfg.Like = l.gate
	}
	gate, err := healthgate.NewGate(cfg)
	if err == nil {
		l.gate = gate
	}
	return gate, err
}

// Remove stops managing a group; nothing is told to its workload, the context of a call
// under way ends, waiters get ErrGone. An unknown ID is ignored.
func (l *Loop) Remove(id GroupID) {
	l.mu.Lock()
	g, ok := l.groups[id]
	delete(l.groups, id)
	l.mu.Unlock()
	if !ok {
		return
	}
	g.post(Event{Kind: Removed})
	g.gate.Close()
}

// Group returns a managed group, or nil.
func (l *Loop) Group(id GroupID) *Group {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.groups[id]
}

// Groups returns all managed groups in no particular order.
func (l *Loop) Groups() []*Group {
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := make([]*Group, 0, len(l.groups))
	return slices.AppendSeq(all, maps.Values(l.groups))
}
