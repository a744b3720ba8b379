package drivertest

import (
	"testing"
	"time"

	"doze/plugins/drivers"
)

// moments are when a plugin is killed in the midst of a call, counted from the call.
func moments(yield func(time.Duration) bool) {
	for ms := range 8 {
		if !yield(time.Duration(ms*ms) * time.Millisecond) {
			return
		}
	}
}

// killedDuringStart kills the plugin before it may have answered to a start. An agent starts
// the task again then, by the same id: it must not run twice, nor be refused.
func killedDuringStart(t *testing.T, s Subject) {
	for after := range moments {
		a := Boot(t, s.Config)
		task := s.newTask(a, s.Long)
		answered := make(chan error, 1)
		go func() {
			_, err := a.Run(task.TaskConfig)
			answered <- err
		}()
		<-time.After(after)
		a.crash()
		err := <-answered
		a.do(a.dispense()...)
		if err == nil {
			a.must("recover", a.RecoverAll())
		} else if _, err := a.Run(task.TaskConfig); err != nil {
			t.Errorf("killed %s after the call, the next start returned %v", after, err)
		}
		stillRuns(t, a, task)
	}
}

// killedDuringStop kills the plugin before it may have answered to a stop, which an agent
// repeats then.
func killedDuringStop(t *testing.T, s Subject) {
	for after := range moments {
		a, task := s.boot(t, s.Long)
		how := drivers.StopRequest{Timeout: patience / 2}
		answered := make(chan error, 1)
		go func() { answered <- a.Stop(t.Context(), task.ID, how) }()
		<-time.After(after)
		a.crash()
		<-answered // with an error or, if it was fast enough, without
		a.do(a.dispense()...)
		err := a.RecoverAll()
		if err != nil && s.Forgetful {
			a.must("destroy what has ended", a.Forget(task.ID))
			continue
		}
		a.must("recover", err)
		ctx := patient(t)
		a.must("stop once more", a.Stop(ctx, task.ID, how))
		if err := a.checkExited(task); err != nil {
			t.Errorf("killed %s after the call, then stopped once more: %v", after, err)
		}
		a.must("destroy", a.Forget(task.ID))
	}
}
