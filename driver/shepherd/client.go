package shepherd

import (
	"context"
	"errors"
	"io"
	"time"

	"doze/driver/shepherd/cgroup"
	"doze/idle"
)

var (
	// ErrGone: no shepherd answers. Its children are gone too, or going.
	ErrGone = errors.New("the shepherd is gone")
	// ErrExited: the application has ended, so there is nothing to do it to.
	ErrExited = errors.New("the task has exited")
	// ErrInUse: connections are open, so the task was not put to sleep.
	ErrInUse = errors.New("the task is in use")
)

// Stats is what a task has used.
type Stats = cgroup.Stats

// Size is a terminal's, in characters.
type Size struct {
	Width, Height int
}

// ExecSpec is a command to run beside the application.
type ExecSpec struct {
	Argv []string      // required; Argv[0] as Spec.Command
	Env  []string      // added to the task's; nil: just the task's
	TTY  bool          // stdin, stdout and stderr are one terminal; stderr stays silent
	Size <-chan Size   // changes of the terminal's size; nil: none; not read when it is closed
	Kill time.Duration // reserved: how long after the end of ctx it may go on; 0: killed at once
}

// Client talks to one shepherd. It holds no connection, so it need not be closed, and it
// is as good after a restart of its own process (see Connect). All methods are safe for
// concurrent use and return ErrGone (perhaps wrapped) when no shepherd answers.
type Client struct {
	dir string
}

// Launch starts a shepherd in a session of its own and, as root, in new pid, ipc and mount
// namespaces, with the task's application running unless s.OnDemand. It returns once the
// shepherd answers. dir is made, with mode 0700; it will hold the control socket, so its
// path has to be short (at most 90 bytes). The error says what is wrong with the task
// (a missing binary, a port in use) and nothing is left behind then.
func Launch(ctx context.Context, dir string, s Spec) (*Client, error) {
	return nil, errors.ErrUnsupported
}

// Connect finds the shepherd that dir belongs to, or returns ErrGone.
func Connect(ctx context.Context, dir string) (*Client, error) {
	return nil, errors.ErrUnsupported
}

// Wait returns how the application ended, at once when it has ended already. Any number of
// callers may wait. The end of a process that is parked is no exit.
func (c *Client) Wait(ctx context.Context) (Exit, error) { return Exit{}, errors.ErrUnsupported }

// Stop ends the application: thawed, told by the signal ("" is Spec.StopSignal), killed
// after timeout (0: Spec.StopTimeout, negative: at once) with everything that it started.
// It returns when it is gone; nil when it was gone before, or there is no shepherd.
func (c *Client) Stop(ctx context.Context, timeout time.Duration, signal string) error {
	return errors.ErrUnsupported
}

// Destroy kills everything, removes the cgroups and dir, and ends the shepherd. nil when
// there is none. After it Wait has nobody to ask.
func (c *Client) Destroy(ctx context.Context) error { return errors.ErrUnsupported }

// Signal sends a signal ("SIGHUP", "HUP" or "1") to the application's process, thawed
// first. A parked task has none: an error.
func (c *Client) Signal(ctx context.Context, name string) error { return errors.ErrUnsupported }

// Sleep freezes or parks the task now, as deep as depth, also where Spec has no such step,
// and returns when that has happened. Relayed connections stay open, and a byte from a
// client wakes it again; with Socket activation it is ErrInUse while any is open.
func (c *Client) Sleep(ctx context.Context, depth idle.Depth) error { return errors.ErrUnsupported }

// Wake wakes the task and returns when it is ready, or why it is not.
func (c *Client) Wake(ctx context.Context) error { return errors.ErrUnsupported }

// Status returns a snapshot; it never waits for the task.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return Status{}, errors.ErrUnsupported
}

// Stats reads the cgroup, or without one what /proc says of the application alone.
func (c *Client) Stats(ctx context.Context) (Stats, error) { return Stats{}, errors.ErrUnsupported }

// Events calls yield for each event that nobody has been told yet, oldest first, and goes
// on until ctx ends, yield returns an error (both are returned) or the shepherd is gone. At
// most the last 64 are kept for a reader who comes late.
func (c *Client) Events(ctx context.Context, yield func(Event) error) error {
	return errors.ErrUnsupported
}

// Exec runs a command inside the task: its namespaces, cgroup, user and directory. A
// sleeping task is woken first, and stays awake while it runs. The command is killed when
// ctx ends. nil readers and writers are empty. The error is for what could not be started;
// otherwise Exit has its end.
func (c *Client) Exec(
	ctx context.Context, e ExecSpec, stdin io.Reader, stdout, stderr io.Writer,
) (Exit, error) {
	return Exit{}, errors.ErrUnsupported
}
