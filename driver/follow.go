package driver

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"doze/driver/shepherd"
	"doze/plugins/drivers"
)

// followAgain is the pause after a stream of events that broke.
const followAgain = time.Second

// follow passes a shepherd's events on to Nomad until ctx ends or the shepherd has gone.
func (d *Driver) follow(ctx context.Context, t *task) {
	defer close(t.done)
	d.logMissing(ctx, t)
	for ctx.Err() == nil {
		err := t.dog.Events(ctx, func(e shepherd.Event) error {
			if worthTelling(e) {
				d.Emit(t.event(e))
			}
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

// worthTelling leaves out what Nomad tells by itself: its own event says that a task ended,
// and how.
func worthTelling(e shepherd.Event) bool { return e.Kind != shepherd.EventExited }

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
