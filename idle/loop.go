package idle

import (
	"context"
	"log/slog"
	"time"

	"doze/healthgate"
)

// Config is the Loop's. The zero value is usable.
type Config struct {
	// MaxWakes is how many Workload.Wake calls may be under way at once; further wakes
	// queue; default 32.
	MaxWakes int
	// OnTransition is called from the loop for every change of state, in order; it must
	// not block. nil: nobody is told.
	OnTransition func(Transition)
	Log          *slog.Logger // nil discards
}

// Transition is one change of a group's state and why it happened.
type Transition struct {
	Group      GroupID
	Generation healthgate.Generation
	From, To   State
	At         time.Time
	Cause      string // "request", "command: alice", "idle for 5m0s", "wake timed out", …
	Depth      Depth  // of the sleep, for Sleeping and Asleep
	Err        string // the reason of a failure, "" otherwise
	Wake       *Wake  // of the wake that ended with this transition, nil otherwise
}

// Wake is the record of one wake. Zero times: not reached.
type Wake struct {
	Generation healthgate.Generation
	Cause      string
	Started    time.Time // the first held request, or the command
	Placed     time.Time // the first target was declared
	Booted     time.Time // a target first accepted a connection
	Ready      time.Time // a target passed its probe
	Err        string    // why it failed, "" when it did not
}

// Loop drives any number of groups. One goroutine (Run) owns all their states.
type Loop struct{}

// NewLoop returns a Loop; it does nothing before Run.
func NewLoop(cfg Config) *Loop { panic("skeleton") }

// Run drives the groups until ctx ends, then waits for the calls under way to return
// (their contexts end too) and closes every gate. It changes no workload on the way out.
func (l *Loop) Run(ctx context.Context) error { panic("skeleton") }

// GroupConfig is what a Loop needs to know of one group.
type GroupConfig struct {
	ID       GroupID
	Policy   Policy
	Gate     healthgate.GateConfig // its OnBooted, OnReady and OnLost belong to the loop and must be nil
	Workload Workload
	// Observed is the first observation: with Count > 0 the group is adopted (probed,
	// then ready with a full idle period), with 0 it is asleep.
	Observed Observation
}

// Add starts managing a group. It may be called before Run. An ID that is managed
// already, or a bad config, is an error.
func (l *Loop) Add(cfg GroupConfig) (*Group, error) { panic("skeleton") }

// Remove stops managing a group; nothing is told to its workload, waiters get ErrGone.
func (l *Loop) Remove(id GroupID) { panic("skeleton") }

// Group returns a managed group, or nil.
func (l *Loop) Group(id GroupID) *Group { panic("skeleton") }

// Groups returns all managed groups in no particular order.
func (l *Loop) Groups() []*Group { panic("skeleton") }
