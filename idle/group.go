package idle

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"doze/healthgate"
)

// Group is one managed group. All methods are safe for concurrent use.
//
// The loop's goroutine is the only one that changes machine, past and call; it holds mu
// while it changes the first two, so that Status can read them. mu is never held across
// anything that can block.
type Group struct {
	id       GroupID
	loop     *Loop
	gate     *healthgate.Gate
	workload Workload
	source   func() (inFlight int64, last time.Time, known bool)

	leases  leaseWord
	waiting atomic.Int32
	posted  atomic.Bool // a RequestHeld event is in the inbox and not yet looked at

	mu      sync.Mutex
	machine Machine
	past    history

	call *call // under way or queued; nil: none
	slot int   // one more than its place among the loop's deadlines; 0: none
	gone bool
}

// ErrGone: the group is no longer managed, or the loop has ended.
var ErrGone = errors.New("the group is no longer managed")

// ErrLeased: leases are out, so the group was not put to sleep.
var ErrLeased = errors.New("the group is in use")

// ErrTooManyLeases: a group holds at most 64 keep-awake leases at once.
var ErrTooManyLeases = errors.New("too many keep-awake leases are out")

// ID returns the group's name.
func (g *Group) ID() GroupID { return g.id }

// Gate returns the group's health gate, for picking targets and reporting errors. Arming,
// updating and shutting it is the loop's business alone.
func (g *Group) Gate() *healthgate.Gate { return g.gate }

// Acquire takes a lease for one request, on its arrival, and reports whether the gate
// stands open (then Gate().Pick names a target; if it returns nil, call Await). The caller
// must Release exactly once, whatever Acquire or Await said. No lock, no allocation, and no
// clock reading.
func (g *Group) Acquire() bool { return g.leases.take() }

// Release gives the lease back and stamps the activity.
func (g *Group) Release() { g.leases.give(time.Since(g.loop.epoch)) }

// Await has the group woken (once, however many call) and returns nil when it is ready;
// the caller holds a lease from Acquire. It gives up when ctx ends (the error is a
// *healthgate.WaitError), at once with *FailedError while the last wake's failure is
// cached, with ErrGone. cause goes into the record of the wake.
//
// A ready group without an admitted target is woken anew at once (generation + 1, cause
// "targets lost"): the workload is asked again, in case it was taken away, and the known
// targets are probed at the pace of a wake.
func (g *Group) Await(ctx context.Context, cause string) error {
	place := g.gate.Waiter() // before the post, so that no outcome can be missed
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	if g.posted.CompareAndSwap(false, true) {
		g.loop.inbox.put(message{group: g, event: Event{Kind: RequestHeld, Cause: cause}})
	}
	err := place.Wait(ctx)
	if errors.Is(err, healthgate.ErrClosed) {
		return ErrGone
	}
	return err
}

// activity reads what is in flight. The extra source is asked only where a step down is
// decided.
func (g *Group) activity(kind EventKind) Activity {
	inFlight, last := g.leases.read()
	act := Activity{
		InFlight: inFlight,
		Waiting:  int64(g.waiting.Load()),
		Known:    true,
		Admitted: g.gate.Pick() != nil,
	}
	if last > 0 {
		act.Last = g.loop.epoch.Add(last)
	}
	switch kind {
	case DeadlinePassed, GateShut, GateClosed, SleepAsked:
		g.addSource(&act)
	}
	return act
}

// addSource adds what the extra source knows.
func (g *Group) addSource(act *Activity) {
	if g.source == nil {
		return
	}
	inFlight, last, known := g.source()
	act.InFlight += inFlight
	act.Last = later(act.Last, last)
	act.Known = known
}

// onBooted is called by the health gate, like onReady and onLost.
func (g *Group) onBooted(gen healthgate.Generation) {
	g.post(Event{Kind: TargetBooted, Generation: gen})
}

func (g *Group) onReady(gen healthgate.Generation) {
	g.post(Event{Kind: TargetReady, Generation: gen})
}

func (g *Group) onLost(gen healthgate.Generation) {
	g.post(Event{Kind: TargetsLost, Generation: gen})
}

func (g *Group) post(ev Event) { g.loop.inbox.put(message{group: g, event: ev}) }
