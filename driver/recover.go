package driver

import (
	"context"
	"errors"
	"fmt"

	"doze/driver/shepherd"
	"doze/plugins/drivers"
)

// Recover implements drivers.Driver.
func (d *Driver) Recover(ctx context.Context, h drivers.Handle) error {
	state, err := decodeState(h.State)
	if err != nil {
		return err
	}
	if _, err := d.tasks.get(state.TaskID); err == nil {
		return nil
	}
	dog, err := d.flock.Connect(ctx, state.Dir)
	if errors.Is(err, shepherd.ErrGone) && state.isLeft() {
		// It was killed while nobody looked: an end, which Wait tells, as any other. After
		// a boot, which empties the directory, Nomad starts the task anew.
		dog, err = d.flock.At(state.Dir), nil
	}
	if err != nil {
		return fmt.Errorf("cannot find task %q again: %w", state.TaskID, err)
	}
	d.adopt(state, dog)
	return nil
}

// adopt makes the task one that this process knows, and follows its events.
func (d *Driver) adopt(state handleState, dog Shepherd) {
	ctx, stop := context.WithCancel(context.Background())
	t := &task{state: state, dog: dog, stop: stop, done: make(chan struct{}),
		told: make(chan struct{})}
	if !d.tasks.put(t) {
		stop()
		return // another call was faster
	}
	go d.follow(ctx, t) // ends by release, or with the shepherd
}

// find returns a task that this process knows, or one that only its shepherd tells of: a
// task whose handle has been lost must still be stopped.
func (d *Driver) find(ctx context.Context, id string) (*task, error) {
	if t, err := d.tasks.get(id); err == nil {
		return t, nil
	}
	if id == "" {
		return nil, drivers.ErrTaskNotFound
	}
	dog, err := d.flock.Connect(ctx, d.dirOf(id))
	switch {
	case errors.Is(err, shepherd.ErrGone):
		return nil, drivers.ErrTaskNotFound
	case err != nil:
		return nil, fmt.Errorf("cannot look for task %q: %w", id, err)
	}
	closed := make(chan struct{})
	close(closed)
	return &task{state: handleState{TaskID: id}, dog: dog, stop: func() {}, done: closed}, nil
}
