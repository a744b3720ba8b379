package drivers

import (
	"context"
	"time"

	"doze/plugins/base"
	"doze/plugins/hclspec"
)

// Driver is a task driver. Its methods are called concurrently, also for the
// same task. An id is TaskConfig.ID: new at every start of a task.
//
// A driver that also is a base.Configurable, an Initializer, Shutdowner,
// Signaler, Executor, StatsSource, EventSource, Inspector or NetworkMaker is
// asked for that too.
type Driver interface {
	base.Plugin

	// TaskSchema is the shape of a task's `config` block. It has no side effects.
	TaskSchema() hclspec.Spec

	// Capabilities are fixed for the life of the process.
	Capabilities() Capabilities

	// Fingerprint sends what the driver can do on this machine: at once, and
	// whenever it changes, until ctx ends. A driver that has nothing to watch
	// may return nil after the first: the stream stays open. An error makes the
	// driver unhealthy, for that reason, and Fingerprint is called again after 5 s.
	Fingerprint(ctx context.Context, send func(Fingerprint) error) error

	// Start starts a task. A task that fails to start fails for good, unless the
	// error is Recoverable: then the job's restart block applies. The context
	// is the call's: the task has to outlive it, and the plugin's process.
	Start(ctx context.Context, task TaskConfig) (Started, error)

	// Recover takes up a task that an earlier process of the plugin has started,
	// from the State that Start returned. It may be called for a task that is
	// known already, or that ended long ago. After an error Nomad destroys the
	// task and starts it anew.
	Recover(ctx context.Context, h Handle) error

	// Wait returns when the task has ended; at once if it has ended before, until
	// Destroy. Any number of calls may wait for one task.
	Wait(ctx context.Context, id string) (ExitResult, error)

	// Stop ends the task and returns when it has ended. ErrTaskNotFound and
	// ErrTaskExited count as success: after any other error Nomad tries five
	// times more, over minutes.
	Stop(ctx context.Context, id string, how StopRequest) error

	// Destroy forgets an ended task; with force it first kills a running one.
	// Nomad calls it after every exit and ignores the error.
	Destroy(ctx context.Context, id string, force bool) error
}

// StopRequest says how to stop a task.
type StopRequest struct {
	// Signal to begin with; "": the driver's choice.
	Signal string
	// Timeout until the task is killed; 0: at once.
	Timeout time.Duration
}

// Initializer is told when it has been configured, or found again by a new
// agent. Nomad before 2.0.4 does not call it.
type Initializer interface {
	Init(ctx context.Context) error
}

// Shutdowner is told that its process is about to be ended; tasks go on. It has
// 2 s. Nomad before 2.0.4 does not call it, nor does one that crashes.
type Shutdowner interface {
	Shutdown(ctx context.Context) error
}

// Signaler passes signals to tasks. The name comes from the caller and is not
// checked by anybody: it may be anything.
type Signaler interface {
	Signal(ctx context.Context, id, signal string) error
}

// StatsSource tells what a task uses.
type StatsSource interface {
	// Stats sends the task's usage at once and every interval, until ctx or the
	// task ends: then it returns nil.
	Stats(ctx context.Context, id string, every time.Duration, send func(Stats) error) error
}

// EventSource tells of events in a task's life; an EventLog is one.
type EventSource interface {
	// Events sends events until ctx ends. Nomad keeps the last 10 of a task,
	// and writes each to its log of changes: they are not for every request.
	// After an error it is called again, 5 s later.
	Events(ctx context.Context, send func(Event) error) error
}

// Inspector tells what it knows of a task. Nomad's client never asks.
type Inspector interface {
	Inspect(ctx context.Context, id string) (Status, error)
}

// NetworkMaker makes the network namespaces of groups, instead of Nomad.
type NetworkMaker interface {
	// CreateNetwork makes the namespace of an allocation; created is false if
	// there was one already.
	CreateNetwork(ctx context.Context, allocID, hostname string) (
		n Network, created bool, err error)
	DestroyNetwork(ctx context.Context, allocID string, n Network) error
}
