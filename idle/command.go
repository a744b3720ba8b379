package idle

import (
	"context"
	"fmt"
	"slices"
	"time"

	"doze/healthgate"
)

// Wake has the group woken by command and returns without waiting for it to be ready. It
// counts as activity. While a failure is cached it starts a new attempt all the same.
func (g *Group) Wake(ctx context.Context, cause string) error {
	_, err := g.command(ctx, Event{Kind: WakeAsked, Cause: cause})
	return err
}

// Sleep puts the group to sleep now, as deep as the policy's first rung. ErrLeased while
// requests are in flight or keep-awake leases are out, unless force, which takes those
// leases away and lets those who wait fail. It returns when the state has left Ready (nil
// too when it is asleep already). MinAwake does not apply; DrainDelay does, unless forced.
func (g *Group) Sleep(ctx context.Context, cause string, force bool) error {
	return g.SleepAt(ctx, Awake, cause, force)
}

// SleepAt is Sleep to a given depth; Awake means the policy's first rung. A group that
// sleeps less deep goes deeper, one that sleeps as deep or deeper stays as it is.
func (g *Group) SleepAt(ctx context.Context, depth Depth, cause string, force bool) error {
	_, err := g.command(ctx, Event{Kind: SleepAsked, Depth: depth, Cause: cause, Force: force})
	return err
}

// Deepen has a group that is asleep less deep than depth go down to it, because memory is
// short. Any other group stays as it is.
func (g *Group) Deepen(ctx context.Context, depth Depth, cause string) error {
	_, err := g.command(ctx, Event{Kind: DeepenAsked, Depth: depth, Cause: cause})
	return err
}

// KeepAwake holds a named lease until the given time and wakes the group if it sleeps. The
// longest wins: an earlier end than the one in force changes nothing. It returns the end
// in force; a time that has passed is an error, as is a 65th lease (ErrTooManyLeases).
// A lease keeps Doze from putting the group to sleep, and nobody else: what an operator
// scales to zero stays there. When it ends the group may fall asleep at once.
func (g *Group) KeepAwake(ctx context.Context, name string, until time.Time) (time.Time, error) {
	a, err := g.command(ctx, Event{Kind: LeaseTaken, Lease: name, Until: until})
	return a.until, err
}

// DropLease ends a named lease and reports whether there was one.
func (g *Group) DropLease(ctx context.Context, name string) (bool, error) {
	a, err := g.command(ctx, Event{Kind: LeaseDropped, Lease: name})
	return a.had, err
}

// Observe tells what was seen from outside; see Observation.
func (g *Group) Observe(o Observation) { g.post(Event{Kind: Observed, Observation: o}) }

// SetTargets declares the whole set of the group's addresses.
func (g *Group) SetTargets(targets []healthgate.Target) {
	g.post(Event{Kind: TargetsDeclared, Targets: slices.Clone(targets)})
}

// SetPolicy replaces the policy; the idle clock goes on.
func (g *Group) SetPolicy(p Policy) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("cannot set policy of group %q: %w", g.id, err)
	}
	g.post(Event{Kind: PolicyChanged, Policy: g.loop.share(p)})
	return nil
}

// answer is what a command comes back with.
type answer struct {
	until time.Time // KeepAwake
	had   bool      // DropLease
	err   error
}

// command posts ev and waits until the loop has taken it.
func (g *Group) command(ctx context.Context, ev Event) (answer, error) {
	reply := make(chan answer, 1)
	g.loop.inbox.put(message{group: g, event: ev, reply: reply})
	select {
	case a := <-reply:
		return a, a.err
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	case <-g.loop.ended:
		return answer{}, ErrGone
	}
}

// answerTo says what came of a command, from the state after it.
func (g *Group) answerTo(ev *Event, had bool) answer {
	switch ev.Kind {
	case SleepAsked:
		if !slices.Contains([]State{Draining, Sleeping, Asleep}, g.machine.state) {
			return answer{err: ErrLeased}
		}
	case LeaseTaken:
		return g.answerToLease(ev)
	case LeaseDropped:
		return answer{had: had}
	}
	return answer{}
}

func (g *Group) answerToLease(ev *Event) answer {
	until, held := g.machine.leases[ev.Lease]
	if held {
		return answer{until: until}
	}
	if len(g.machine.leases) >= maxLeases {
		return answer{err: ErrTooManyLeases}
	}
	return answer{err: fmt.Errorf("cannot hold lease %q until %s: that time has passed",
		ev.Lease, ev.Until.Format(time.RFC3339))}
}
