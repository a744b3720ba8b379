package driver

import (
	"context"
	"errors"
	"fmt"

	"doze/driver/shepherd"
	"doze/plugins/drivers"
)

// Wait implements drivers.Driver.
func (d *Driver) Wait(ctx context.Context, id string) (drivers.ExitResult, error) {
	t, err := d.tasks.get(id)
	if err != nil {
		return drivers.ExitResult{}, err
	}
	exit, err := t.dog.Wait(ctx)
	switch {
	case errors.Is(err, shepherd.ErrGone):
		return d.lost(t), nil
	case err != nil:
		return drivers.ExitResult{}, fmt.Errorf("cannot wait for task %q: %w", id, err)
	}
	d.awaitTold(ctx, t, exit.At)
	return exitResult(exit), nil
}

// lost is the exit of a task whose shepherd has gone: nobody can tell any more how it ended.
// What is left of it is ended with it.
func (d *Driver) lost(t *task) drivers.ExitResult {
	result := drivers.ExitResult{Code: 1, Message: "the task's shepherd has ended, and the task " +
		"with it: it was killed, or the machine ran out of memory"}
	if err := d.sweep(t.state); err != nil {
		result.Message += fmt.Sprintf("; some of the task may be left: %v", err)
	}
	return result
}

// exitBySignal is added to a signal's number to make an exit code, as shells and Nomad's own
// drivers do.
const exitBySignal = 128

func exitResult(e shepherd.Exit) drivers.ExitResult {
	r := drivers.ExitResult{Code: e.Code, Signal: e.Signal, OOMKilled: e.OOMKilled,
		Message: word(e.Err, e.Note)}
	if r.Signal != 0 && r.Code == 0 {
		r.Code = exitBySignal + r.Signal
	}
	if r.OOMKilled && r.Message == "" {
		r.Message = "OOM Killed"
	}
	return r
}
