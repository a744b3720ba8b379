package idle

import (
	"context"
	"errors"
	"time"

	"doze/healthgate"
)

// Group is one managed group. All methods are safe for concurrent use.
type Group struct{}

// ErrGone: the group is no longer managed, or the loop has ended.
var ErrGone = errors.New("the group is no longer managed")

// ErrLeased: leases are out, so the group was not put to sleep.
var ErrLeased = errors.New("the group is in use")

func (g *Group) ID() GroupID            { panic("skeleton") }
func (g *Group) Gate() *healthgate.Gate { panic("skeleton") }

// Acquire takes a lease for one request, on its arrival, and reports whether the gate
// stands open (then Gate().Pick names a target; if it returns nil, call Await). The caller
// must Release exactly once, whatever Acquire or Await said. No lock, no allocation, and no
// clock reading.
func (g *Group) Acquire() bool { panic("skeleton") }

// Release gives the lease back and stamps the activity.
func (g *Group) Release() { panic("skeleton") }

// Await has the group woken (once, however many call) and returns nil when it is ready;
// the caller holds a lease from Acquire. It gives up when ctx ends (the error is a
// *healthgate.WaitError), at once with *FailedError while the last wake's failure is
// cached, with ErrGone. cause goes into the record of the wake.
func (g *Group) Await(ctx context.Context, cause string) error { panic("skeleton") }

// FailedError says that the last wake failed and when the next one may be tried.
type FailedError struct {
	Reason     string        // for the operator; never shown to a client
	RetryAfter time.Duration // > 0
	Wake       Wake
}

func (e *FailedError) Error() string { return "the last wake failed: " + e.Reason }

// Wake has the group woken by command and returns without waiting for it to be ready. It
// counts as activity. While a failure is cached it starts a new attempt all the same.
func (g *Group) Wake(ctx context.Context, cause string) error { panic("skeleton") }

// Sleep puts the group to sleep now. ErrLeased while requests are in flight or keep-awake
// leases are out, unless force, which takes those leases away. It returns when the state
// has left Ready (nil too when it is asleep already).
func (g *Group) Sleep(ctx context.Context, cause string, force bool) error { panic("skeleton") }

// KeepAwake holds a named lease until the given time and wakes the group if it sleeps. The
// longest wins: an earlier end than the one in force changes nothing. It returns the end
// in force.
func (g *Group) KeepAwake(ctx context.Context, name string, until time.Time) (time.Time, error) {
	panic("skeleton")
}

// DropLease ends a named lease and reports whether there was one.
func (g *Group) DropLease(ctx context.Context, name string) (bool, error) { panic("skeleton") }

// Observe tells what was seen from outside; see Observation.
func (g *Group) Observe(o Observation) { panic("skeleton") }

// SetTargets declares the whole set of the group's addresses.
func (g *Group) SetTargets(targets []healthgate.Target) { panic("skeleton") }

// SetPolicy replaces the policy; the idle clock goes on.
func (g *Group) SetPolicy(p Policy) error { panic("skeleton") }

// Status is a snapshot of a group.
type Status struct {
	ID           GroupID
	State        State
	Depth        Depth
	Generation   healthgate.Generation
	Since        time.Time // of State
	InFlight     int64     // requests held or being served
	LastActivity time.Time // when the last request ended; zero: none since it was adopted
	SleepsAt     time.Time // when it will fall asleep if nothing happens; zero: not planned
	RetryAt      time.Time // Failed: when the next wake may be tried
	Leases       map[string]time.Time
	Wakes        uint64       // since the group was added
	LastWake     *Wake        // nil: none yet
	History      []Transition // newest last, the last 8
	Err          string       // the last failure, "" when none since the last success
}

// Status returns a snapshot.
func (g *Group) Status() Status { panic("skeleton") }
