package driver

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"doze/plugins/drivers"
)

// Inspect implements drivers.Inspector.
func (d *Driver) Inspect(ctx context.Context, id string) (drivers.Status, error) {
	t, err := d.tasks.get(id)
	if err != nil {
		return drivers.Status{}, err
	}
	now, err := t.dog.Status(ctx)
	if err != nil {
		return drivers.Status{}, fmt.Errorf("cannot look at task %q: %w", id, err)
	}
	status := drivers.Status{
		ID: id, Name: t.state.TaskName, State: drivers.TaskRunning,
		StartedAt: t.state.StartedAt,
		Attributes: map[string]string{
			"state":     now.State.String(),
			"depth":     now.Depth.String(),
			"since":     now.Since.UTC().Format(timeFormat),
			"wakes":     strconv.FormatUint(now.Wakes, 10),
			"in_flight": strconv.FormatInt(now.InFlight, 10),
			"listen":    now.Listen,
			"missing":   strings.Join(now.Missing, "; "),
			// of the shepherd: whoever kills it ends the task
			"pid": strconv.Itoa(now.Shepherd),
		},
	}
	if now.Exit != nil {
		status.State, status.Exit = drivers.TaskExited, exitResult(*now.Exit)
		status.CompletedAt = now.Exit.At
	}
	return status, nil
}

// timeFormat is RFC 3339 with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"
