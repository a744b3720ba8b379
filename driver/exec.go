package driver

import (
	"context"
	"fmt"
	"sync"

	"doze/driver/shepherd"
	"doze/plugins/drivers"
)

// Exec implements drivers.Executor.
func (d *Driver) Exec(
	ctx context.Context, id string, s drivers.Session,
) (drivers.ExitResult, error) {
	t, err := d.tasks.get(id)
	if err != nil {
		return drivers.ExitResult{}, err
	}
	ctx, done := context.WithCancel(ctx)
	var passing sync.WaitGroup
	defer passing.Wait()
	defer done()
	sizes := make(chan shepherd.Size)
	passing.Go(func() { passSizes(ctx, s.Resize, sizes) })
	spec := shepherd.ExecSpec{Argv: s.Command, TTY: s.TTY, Size: sizes}
	exit, err := t.dog.Exec(ctx, spec, s.Stdin, s.Stdout, s.Stderr)
	if err != nil {
		return drivers.ExitResult{}, fmt.Errorf("cannot run a command in task %q: %w", id, err)
	}
	return exitResult(exit), nil
}

// passSizes passes a terminal's sizes on until ctx ends.
func passSizes(ctx context.Context, from <-chan drivers.TerminalSize, to chan<- shepherd.Size) {
	for {
		select {
		case <-ctx.Done():
			return
		case size := <-from:
			select {
			case <-ctx.Done():
				return
			case to <- shepherd.Size{Width: int(size.Width), Height: int(size.Height)}:
			}
		}
	}
}
