package driver

import (
	"context"
	"fmt"

	"doze/idle"
)

// Signal implements drivers.Signaler.
func (d *Driver) Signal(ctx context.Context, id, signal string) error {
	t, err := d.tasks.get(id)
	if err != nil {
		return err
	}
	order, name, err := readSignal(signal)
	if err != nil {
		return err
	}
	switch order {
	case orderFreeze:
		err = t.dog.Sleep(ctx, idle.Freeze)
	case orderPark:
		err = t.dog.Sleep(ctx, idle.Park)
	case orderWake:
		err = t.dog.Wake(ctx)
	default:
		err = t.dog.Signal(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("cannot %s task %q: %w", order, t.state.TaskName, err)
	}
	return nil
}
