package driver

import (
	"context"
	"io"
	"time"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/idle"
)

// Flock launches and finds shepherds.
type Flock interface {
	// Launch starts a task's shepherd in a directory of its own and returns when the
	// task has started. The shepherd outlives the context and this process.
	Launch(ctx context.Context, dir string, spec shepherd.Spec) (Shepherd, error)
	// Connect finds the shepherd of a directory; shepherd.ErrGone: there is none.
	Connect(ctx context.Context, dir string) (Shepherd, error)
	// At is the shepherd of a directory, whether it still is there or not.
	At(dir string) Shepherd
	// Sweep ends and removes what a shepherd that is gone has left.
	Sweep(dir string, groups cgroup.Spec) error
}

// Shepherd is what the driver asks of a task's shepherd; a *shepherd.Client is one.
type Shepherd interface {
	Wait(ctx context.Context) (shepherd.Exit, error)
	Stop(ctx context.Context, timeout time.Duration, signal string) error
	Destroy(ctx context.Context) error
	Signal(ctx context.Context, name string) error
	Sleep(ctx context.Context, depth idle.Depth) error
	Wake(ctx context.Context) error
	Status(ctx context.Context) (shepherd.Status, error)
	Stats(ctx context.Context) (shepherd.Stats, error)
	Events(ctx context.Context, yield func(shepherd.Event) error) error
	Exec(ctx context.Context, spec shepherd.ExecSpec, stdin io.Reader,
		stdout, stderr io.Writer) (shepherd.Exit, error)
}

// shepherds are the real ones.
type shepherds struct{}

func (shepherds) Launch(ctx context.Context, dir string, spec shepherd.Spec) (Shepherd, error) {
	return shepherd.Launch(ctx, dir, spec)
}

func (shepherds) Connect(ctx context.Context, dir string) (Shepherd, error) {
	return shepherd.Connect(ctx, dir)
}

func (shepherds) At(dir string) Shepherd { return shepherd.At(dir) }

func (shepherds) Sweep(dir string, groups cgroup.Spec) error {
	return shepherd.Sweep(dir, groups)
}
