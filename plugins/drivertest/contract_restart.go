package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"doze/plugins/drivers"
)

// stillRuns fails the test if the task has ended, or cannot be ended.
func stillRuns(t *testing.T, a *Agent, task *Task) {
	t.Helper()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if r, err := a.Wait(short, task.ID); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the task should go on; Wait returned %+v, %v", r, err)
	}
	ctx := patient(t)
	a.must("stop the task", a.Stop(ctx, task.ID, drivers.StopRequest{Timeout: time.Second}))
	if _, err := a.Wait(ctx, task.ID); err != nil {
		t.Errorf("after Stop, Wait returned %v", err)
	}
	a.must("destroy the task", a.Forget(task.ID))
}

func agentTerminated(t *testing.T, s Subject) {
	a, task := s.boot(t, s.Long)
	s.lull(a, task)
	a.must("recover", a.Restart())
	stillRuns(t, a, task)
}

func agentKilled(t *testing.T, s Subject) {
	a, task := s.boot(t, s.Long)
	s.lull(a, task)
	a.must("recover", a.RestartAfterCrash())
	stillRuns(t, a, task)
}

func pluginKilled(t *testing.T, s Subject) {
	a, task := s.boot(t, s.Long)
	s.lull(a, task)
	a.must("recover", a.CrashPlugin())
	stillRuns(t, a, task)
}

// sameAllocation is what a restart of a task is: another id in the same directory.
func sameAllocation(t *testing.T, s Subject) {
	a, task := s.boot(t, s.Long)
	ctx, first := patient(t), task.ID
	a.must("stop", a.Stop(ctx, first, drivers.StopRequest{Timeout: time.Second}))
	if _, err := a.Wait(ctx, first); err != nil {
		t.Errorf("after Stop, Wait returned %v", err)
	}
	a.must("destroy", a.Forget(first))
	task.Anew()
	_, err := a.Run(task.TaskConfig)
	a.must("start it anew", err)
	stillRuns(t, a, task)
}
