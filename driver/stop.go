package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"doze/driver/shepherd"
	"doze/plugins/drivers"
)

// Stop implements drivers.Driver.
func (d *Driver) Stop(ctx context.Context, id string, how drivers.StopRequest) error {
	t, err := d.find(ctx, id)
	if err != nil {
		return err
	}
	signal := ""
	if how.Signal != "" {
		_, name, err := readSignal(how.Signal)
		if err != nil {
			// A task has to end whatever its job's kill_signal says.
			d.log.Warn("stopping a task with SIGTERM instead", "task_id", id, "error", err)
		}
		signal = name
	}
	timeout := how.Timeout
	if timeout <= 0 {
		timeout = -1 // a shepherd takes 0 for its own default
	}
	err = t.dog.Stop(ctx, timeout, signal)
	if err != nil && !errors.Is(err, shepherd.ErrGone) {
		return fmt.Errorf("cannot stop task %q: %w", id, err)
	}
	return nil
}

// Destroy implements drivers.Driver.
func (d *Driver) Destroy(ctx context.Context, id string, force bool) error {
	t, err := d.find(ctx, id)
	if err != nil {
		return err
	}
	_, err = t.dog.Status(ctx)
	gone := errors.Is(err, shepherd.ErrGone)
	if !gone && !force {
		if err := stillRuns(ctx, t); err != nil {
			return err
		}
	}
	t.release() // nothing that happens from now on is for Nomad
	if err := d.end(ctx, t, gone); err != nil {
		return fmt.Errorf("cannot destroy task %q: %w", id, err)
	}
	d.tasks.forget(t)
	return nil
}

// destroyLimit bounds what ending a task by force may take.
const destroyLimit = 30 * time.Second

func (d *Driver) end(ctx context.Context, t *task, gone bool) error {
	if gone {
		return d.sweep(t.state)
	}
	within, cancel := context.WithTimeout(ctx, destroyLimit)
	defer cancel()
	err := t.dog.Destroy(within)
	if err == nil {
		return nil
	}
	if _, now := t.dog.Status(ctx); errors.Is(now, shepherd.ErrGone) {
		return d.sweep(t.state) // it was killed before it had done it
	}
	return err
}

// stillRuns is an error if the task does.
func stillRuns(ctx context.Context, t *task) error {
	status, err := t.dog.Status(ctx)
	if err == nil && status.Exit == nil {
		return fmt.Errorf("cannot destroy task %q: it still runs; stop it first",
			t.state.TaskID)
	}
	return nil
}
