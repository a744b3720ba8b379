package devnomad

import (
	"context"
	"net"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// TaskSpec is one start of a task, as a driver gets it: everything interpolated.
type TaskSpec struct {
	ID        string // unique for each start
	AllocID   string
	Namespace string
	JobID     string
	Group     string
	Name      string
	Driver    string
	User      string

	Config map[string]any    // the task's config block
	Env    map[string]string // what Nomad adds to the environment
	Ports  []nomad.PortMapping

	AllocDir string // holds alloc/ (shared) and a directory a task
	Dir      string // the task's own directory, its working directory
	Stdout   string // log files, appended to
	Stderr   string
	NoLogs   bool // nobody collects them: what is written is lost

	CPU      int // MHz
	MemoryMB int

	// Event tells of something in the task's life, which becomes one of its events.
	// A Runner need not call it, and may at any time.
	Event func(message string, details map[string]string)
}

// Runner starts tasks: the seam to drivers, and to tests that run handlers in
// their own process. Start must not outlive ctx; the task it returns does.
type Runner interface {
	Start(ctx context.Context, spec TaskSpec) (Task, error)
}

// Task is a started task. Its methods may be called at any time, also after it
// has ended, and from several goroutines.
type Task interface {
	// Wait blocks until the task has ended. The error is ctx's, or says that
	// the exit is not known.
	Wait(ctx context.Context) (Exit, error)

	// Signal sends a signal by its name, like SIGHUP. The cluster does not look
	// at the name; what it means is the driver's affair.
	Signal(name string) error

	// Stop asks the task to end by a signal ("": the driver's default), ends it
	// by force after the grace period, and returns when it has ended.
	Stop(ctx context.Context, signal string, grace time.Duration) error
}

// Exit is how a task ended.
type Exit struct {
	Code      int
	Signal    int
	OOMKilled bool
	Err       string // why it is a failure beyond its code; "": none
}

// Failed says whether the restart policy counts the exit as a failure.
func (e Exit) Failed() bool { return e.Code != 0 || e.Signal != 0 || e.Err != "" || e.OOMKilled }

// Dialer is implemented by a Runner whose tasks do not listen on real sockets,
// and by a Listener that is not reached through the network.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}
