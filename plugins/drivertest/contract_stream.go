package drivertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"doze/plugins/drivers"
)

// leave is how long those stay who leave before they are answered.
const leave = 5 * time.Millisecond

// streamCallersLeave opens all that can be left open, again and again, and leaves: in the end
// the plugin holds no more than in the beginning.
func streamCallersLeave(t *testing.T, s Subject) {
	a, task := s.boot(t, s.Long)
	pid := a.Attachment().PID
	leaveAll(a, task) // what is opened once may stay
	before, err := files(pid)
	a.must("count the plugin's files", err)
	for range 20 {
		leaveAll(a, task)
	}
	var now int
	if !eventually(func() bool {
		now, err = files(pid)
		return err == nil && now <= before
	}) {
		t.Errorf("the plugin has %d files open, it had %d: %v", now, before, err)
	}
	stillRuns(t, a, task)
}

// leaveAll waits, listens and executes for a moment.
func leaveAll(a *Agent, task *Task) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), leave, errors.New("left"))
	defer cancel()
	var callers sync.WaitGroup
	for _, run := range []func() error{
		func() error { _, err := a.Wait(ctx, task.ID); return err },
		func() error { return a.Fingerprint(ctx, func(drivers.Fingerprint) error { return nil }) },
		func() error {
			return a.Stats(ctx, task.ID, time.Second, func(drivers.Stats) error { return nil })
		},
		func() error {
			_, err := a.ExecStream(ctx, task.ID, drivers.Session{Command: []string{"sleep", "600"}})
			return err
		},
	} {
		callers.Go(func() { _ = run() }) // it was left, or the driver does not have it
	}
	callers.Wait()
}
