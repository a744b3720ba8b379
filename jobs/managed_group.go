package jobs

import (
	"cmp"
	"fmt"
	"slices"

	"doze/healthgate"
	"doze/idle"
)

// group is one managed group, what was told of it, and its allocations. There may be many
// thousands, so equal policies are shared and the group's name is kept once.
type group struct {
	work  workload
	setup        // as last seen
	count int    // as last seen
	index uint64 // of the job version that all of this was read from
	told  int    // count as the sink knows it

	// lastUp is the last count above 0 that was seen, at index lastUpAt; 0: none.
	lastUp   int
	lastUpAt uint64

	asking  bool   // a scale call is under way: its outcome comes before what is seen
	waking  bool   // a Wake is under way
	written uint64 // job index of our own last write: what is older is not news

	allocs  []allocation
	listed  uint64 // what happened to allocations up to it is known
	floor   uint64 // allocations created up to it are on their way out
	targets []healthgate.Target
}

// setup is what the operator has set.
type setup struct {
	policy  *Policy // without routes; shared, never changed
	routes  []Route
	max     int
	created uint64 // the job's create index
}

func (g *group) id() idle.GroupID { return g.work.id }

// public is the group as the sink is told of it.
func (g *group) public() Group {
	policy := *g.policy
	policy.Routes = g.routes
	return Group{
		ID: g.id(), JobCreateIndex: g.created, Policy: policy, Max: g.max,
		Count: g.count, JobModifyIndex: g.index,
	}
}

// same reports whether two sightings differ in nothing but count and index.
func (s *setup) same(o *setup) bool {
	return s.policy.equal(o.policy) && s.max == o.max && s.created == o.created &&
		slices.EqualFunc(s.routes, o.routes, Route.equal)
}

// remember keeps the last count above 0, for the next wake.
func (g *group) remember() {
	if g.count > 0 && g.index >= g.lastUpAt {
		g.lastUp, g.lastUpAt = g.count, g.index
	}
}

// holdsBack reports whether the count that was seen is older than what Doze itself wrote,
// or is writing just now.
func (g *group) holdsBack() bool { return g.asking || g.index <= g.written }

// observe tells the count where somebody else has changed it.
func (g *group) observe(sink Sink) {
	if g.holdsBack() || g.count == g.told {
		return
	}
	cause := fmt.Sprintf("count changed from %d to %d", g.told, g.count)
	g.told = g.count
	sink.Observe(g.id(), idle.Observation{Count: g.count, Cause: cause})
	if g.count > 0 && !g.waking {
		g.floor, g.targets = 0, nil // what sleeps forgets its targets
		g.declare(sink)
	}
}

// settle notes the outcome of a scale call: what is older is no news from now on. What our
// own write replaced is on its way out.
func (g *group) settle(a asked, sink Sink) {
	g.asking = false
	if a.index > 0 {
		g.written, g.told = a.index, a.count
	}
	if g.index <= a.index {
		g.count, g.index = a.count, a.index
		g.remember()
	}
	if a.wrote {
		g.floor = a.index
		g.declare(sink)
	}
	g.observe(sink)
}

// put takes in one live allocation.
func (g *group) put(a allocation) {
	i := slices.IndexFunc(g.allocs, func(o allocation) bool { return o.id == a.id })
	switch {
	case i < 0:
		g.allocs = append(g.allocs, a)
	case a.modified >= g.allocs[i].modified:
		g.allocs[i] = a
	}
}

// drop forgets an allocation that is no longer live.
func (g *group) drop(id string) {
	g.allocs = slices.DeleteFunc(g.allocs, func(a allocation) bool { return a.id == id })
	if len(g.allocs) == 0 {
		g.allocs = nil
	}
}

// arrive takes the whole set of live allocations as a wake saw them after its evaluation:
// none of them is on its way out. anew: they are declared even if they are the same, as the
// wake's gate has not heard of them.
func (g *group) arrive(alive []allocation, index uint64, anew bool, sink Sink) {
	if index >= g.listed {
		g.allocs, g.listed = alive, index
	}
	g.floor = 0
	if anew {
		g.targets = nil
	}
	g.declare(sink)
}

// relist takes the whole set of live allocations, as of index. While a wake is under way
// that does its own looking, what is on its way out stays so.
func (g *group) relist(alive []allocation, index uint64, sink Sink) {
	if index < g.listed {
		return
	}
	g.allocs, g.listed = alive, index
	if g.count > 0 && !g.waking {
		g.floor = 0
	}
	g.declare(sink)
}

// declare tells the addresses where they have changed.
func (g *group) declare(sink Sink) {
	targets := g.addresses()
	if !slices.Equal(targets, g.targets) {
		g.targets = targets
		sink.Targets(g.id(), targets)
	}
}

// addresses returns the targets, in the order of their IDs.
func (g *group) addresses() []healthgate.Target {
	var targets []healthgate.Target
	for _, a := range g.allocs {
		if t, ok := a.target(g.policy.Port); ok && a.created > g.floor {
			targets = append(targets, t)
		}
	}
	slices.SortFunc(targets, func(a, b healthgate.Target) int {
		return cmp.Compare(a.ID, b.ID)
	})
	return targets
}
