package driver

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"doze/driver/shepherd"
	"doze/plugins/drivers"
)

// followAgain is the pause after a stream of events that broke.
const followAgain = time.Second

// follow passes a shepherd's events on to Nomad until ctx ends or the shepherd has gone.
func (d *Driver) follow(ctx context.Context, t *task) {
	defer close(t.done)
	exitTold := sync.OnceFunc(func() { close(t.told) })
	d.logMissing(ctx, t)
	for ctx.Err() == nil {
		err := t.dog.Events(ctx, func(e shepherd.Event) error {
			if !isExit(e) {
				d.Emit(t.event(e))
				return nil
			}
			exitTold() // what comes once may be told twice
			return nil
		})
		if ctx.Err() != nil || errors.Is(err, shepherd.ErrGone) {
			return
		}
		d.log.Warn("cannot follow a task's events", "task_id", t.state.TaskID, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(followAgain):
		}
	}
}

// logMissing tells the node's operator what the machine has refused a task.
func (d *Driver) logMissing(ctx context.Context, t *task) {
	status, err := t.dog.Status(ctx)
	if err == nil && len(status.Missing) > 0 {
		d.log.Warn("a task is less isolated than it should be", "task_id", t.state.TaskID,
			"missing", strings.Join(status.Missing, "; "))
	}
}

// isExit reports whether an event is the last one, which is not told: Nomad's own says that
// the task has ended, and how.
func isExit(e shepherd.Event) bool { return e.Kind == shepherd.EventExited }

// tellFirst is how long the exit of a task waits for the events before it.
const tellFirst = 3 * time.Second

// awaitTold waits until Nomad has been told what came before the task's exit: the next thing
// that it does is to have the task, and all that was not told, destroyed.
func (d *Driver) awaitTold(ctx context.Context, t *task, exit time.Time) {
	ctx, cancel := context.WithDeadline(ctx, exit.Add(tellFirst))
	defer cancel()
	select {
	case <-t.told:
	case <-t.done:
	case <-ctx.Done():
	}
	d.Settle(ctx)
}

// event is a shepherd's event in Nomad's terms.
func (t *task) event(e shepherd.Event) drivers.Event {
	details := maps.Clone(e.Details)
	if e.Suppressed > 0 {
		if details == nil {
			details = map[string]string{}
		}
		details["suppressed"] = strconv.Itoa(e.Suppressed)
	}
	return drivers.Event{TaskID: t.state.TaskID, AllocID: t.state.AllocID,
		TaskName: t.state.TaskName, At: e.At, Message: e.Message, Details: details}
}
