package idle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"doze/healthgate"
)

// Workload is what sleeps and wakes: a job group (scale) or a driver task (thaw or start,
// freeze or park). At most one call per group is under way at a time.
type Workload interface {
	// Wake asks for the workload to run and returns when its targets have been (or are
	// being) declared with Group.SetTargets, or with an error in the operator's words.
	// It is level-triggered: waking what is awake is no error and changes nothing.
	// Targets from before a sleep are forgotten, so they are declared anew by each Wake.
	Wake(ctx context.Context, gen healthgate.Generation) error
	// Sleep puts it to sleep at depth. A *NotNowError puts it off; any other error leaves
	// the group ready until another full idle period has passed.
	Sleep(ctx context.Context, gen healthgate.Generation, depth Depth, cause string) error
}

// Explainer is what a Workload may be besides. Explain says in the operator's words why its
// targets are missing or do not answer; nil: nothing that is known of. It changes nothing. It
// is called when a group that was found awake, so that nobody called Wake, has not become
// ready within the wake timeout; its context ends soon, and it counts among the wakes.
type Explainer interface {
	Explain(ctx context.Context) error
}

// NotNowError says that sleeping must wait for a reason that will pass.
type NotNowError struct {
	Reason string
	After  time.Duration // try again after this long, > 0
}

func (e *NotNowError) Error() string {
	return fmt.Sprintf("%s; trying again in %s", e.Reason, e.After)
}

// Causes that the context of a Workload call ends with, beside the end of the loop itself.
var (
	ErrTimedOut   = errors.New("the call took too long")
	ErrSuperseded = errors.New("the call is no longer wanted")
)

// Observation is what was seen of a workload from outside.
type Observation struct {
	Count int    // wanted count; 0 means asleep
	Cause string // in words, for the record: "job registered", "scaled by hand", "found at start"
	Depth Depth  // with Count 0, how deep it sleeps; Awake (the zero value) means Zero
}

func (o Observation) depth() Depth {
	if o.Depth == Awake {
		return Zero
	}
	return o.Depth
}
