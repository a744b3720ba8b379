package drivertest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/drivers"
)

func stopTwice(t *testing.T, s Subject) {
	a, task := s.boot(t, s.Long)
	ctx := patient(t)
	var stops sync.WaitGroup
	for range 3 {
		stops.Go(func() {
			how := drivers.StopRequest{Timeout: time.Second}
			if err := a.Stop(ctx, task.ID, how); err != nil {
				t.Errorf("Stop returned %v", err)
			} else if err := a.checkExited(task); err != nil {
				t.Error(err)
			}
		})
	}
	stops.Wait()
	if _, err := a.Wait(ctx, task.ID); err != nil {
		t.Errorf("after Stop, Wait returned %v", err)
	}
	a.must("stop an ended task", a.Stop(ctx, task.ID, drivers.StopRequest{}))
	a.must("stop an unknown task", a.Stop(ctx, "no/such/task", drivers.StopRequest{}))
}

// unheard ends nothing that does not ask for it: a task that is stopped by it ends when its
// time is over, so that a Stop which does not wait is far ahead of the end.
const unheard = "SIGWINCH"

// stopWaits holds that a task has ended when Stop returns: what an agent does next, it does to
// the task's directory. Destroy asks in its own way, of drivers that can't be inspected too.
func stopWaits(t *testing.T, s Subject) {
	a := Boot(t, s.Config)
	for what, check := range map[string]func(*Task) error{
		"inspected": a.checkExited,
		"destroyed": func(task *Task) error { return a.Destroy(patient(t), task.ID, false) },
	} {
		task := s.newTask(a, s.Long)
		_, err := a.Run(task.TaskConfig)
		a.must("start the task", err)
		how := drivers.StopRequest{Signal: unheard, Timeout: 500 * time.Millisecond}
		a.must("stop the task", a.Stop(patient(t), task.ID, how))
		if err := check(task); err != nil {
			t.Errorf("%s as soon as Stop has returned: %v", what, err)
		}
		a.must("destroy the task", a.Forget(task.ID))
	}
}

// checkExited is an error where a task, which has been stopped, is not one that has exited.
func (a *Agent) checkExited(task *Task) error {
	now, err := a.Inspect(patient(a.t), task.ID)
	switch {
	case status.Code(err) == codes.Unimplemented:
		return nil // it can't be inspected
	case err != nil:
		return err
	case now.State != drivers.TaskExited:
		return errors.New("the task is still there: " +
			"an agent takes its directory away now")
	case now.CompletedAt.IsZero():
		return errors.New("the task has exited, and nobody knows when")
	}
	_, err = a.Wait(patient(a.t), task.ID)
	return err
}
