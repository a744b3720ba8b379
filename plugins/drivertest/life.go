package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/drivers"
	"doze/plugins/host"
)

// life is one task on one agent, from the agent's boot to its end, call by call.
type life struct {
	*Agent
	subject Subject
	task    *Task
	booted  int // how many of the calls are the agent's boot
	// What has come of the task: how it ended, or why nobody could tell.
	exit drivers.ExitResult
	lost error
}

func newLife(t *testing.T, s Subject) *life {
	t.Helper()
	return &life{Agent: newAgent(t, s.Config), subject: s}
}

// calls are the whole life: every RPC that there is.
func (l *life) calls() []call {
	boot := l.boot()
	l.booted = len(boot)
	return slices.Concat(boot, l.use(), l.lull(), l.endings())
}

// use is what comes of a task from its start on.
func (l *life) use() []call {
	return []call{
		{"CreateNetwork", func(ctx context.Context) error {
			_, _, err := l.CreateNetwork(ctx, "alloc", "host")
			return optional(err)
		}},
		{"StartTask", l.start},
		{"WaitTask, while it runs", func(ctx context.Context) error { return l.runs(ctx) }},
		{"TaskStats", l.stats},
		{"InspectTask", func(ctx context.Context) error {
			_, err := l.Inspect(ctx, l.task.ID)
			return optional(err)
		}},
		{"SignalTask", func(ctx context.Context) error {
			return optional(l.Signal(ctx, l.task.ID, "SIGCONT"))
		}},
		{"ExecTask", func(ctx context.Context) error {
			_, err := l.Exec(ctx, l.task.ID, []string{"true"}, time.Second)
			return optional(err)
		}},
		{"ExecTaskStreaming", func(ctx context.Context) error {
			_, err := l.ExecStream(ctx, l.task.ID, drivers.Session{Command: []string{"true"}})
			return optional(err)
		}},
	}
}

// lull puts the task to sleep, where the driver has a way.
func (l *life) lull() (calls []call) {
	for _, signal := range l.subject.Signals {
		calls = append(calls,
			call{"SignalTask, " + signal, func(ctx context.Context) error {
				return l.Signal(ctx, l.task.ID, signal)
			}},
			call{"WaitTask, after " + signal, l.runs})
	}
	return calls
}

// endings are the end of the task and of the plugin.
func (l *life) endings() []call {
	return []call{
		{"RecoverTask, of a task that is known", func(context.Context) error {
			return l.RecoverAll()
		}},
		{"StopTask", func(ctx context.Context) error {
			return l.Stop(ctx, l.task.ID, drivers.StopRequest{Timeout: patience / 2})
		}},
		{"WaitTask, when it has ended", l.wait},
		{"StopTask, once more", func(ctx context.Context) error {
			return l.Stop(ctx, l.task.ID, drivers.StopRequest{Timeout: time.Second})
		}},
		{"DestroyTask", func(context.Context) error { return l.Forget(l.task.ID) }},
		{"DestroyTask, once more", func(ctx context.Context) error {
			return l.Destroy(ctx, l.task.ID, true)
		}},
		{"DestroyNetwork", func(ctx context.Context) error {
			return optional(l.DestroyNetwork(ctx, "alloc", drivers.Network{}))
		}},
		{"Shutdown", func(ctx context.Context) error { return l.Shutdown(ctx) }},
	}
}

// optional makes nothing of a call that a driver does not have.
func optional(err error) error {
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	return err
}

func (l *life) start(context.Context) error {
	l.task = l.subject.newTask(l.Agent, l.subject.Long)
	_, err := l.Run(l.task.TaskConfig)
	return err
}

// runs fails if the task has ended.
func (l *life) runs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	r, err := l.Wait(ctx, l.task.ID)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return fmt.Errorf("the task should go on; Wait returned %+v, %w", r, err)
}

// stats reads one reading, if the driver has any.
func (l *life) stats(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	enough := errors.New("enough")
	err := l.Stats(ctx, l.task.ID, time.Second, func(drivers.Stats) error { return enough })
	if errors.Is(err, enough) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return fmt.Errorf("the stream ended with %w", err)
}

func (l *life) wait(ctx context.Context) (err error) {
	l.exit, err = l.Wait(ctx, l.task.ID)
	if l.lost != nil && errors.Is(err, drivers.ErrTaskNotFound) {
		return nil // as an agent knows by now
	}
	return err
}

// goOn is what an agent does when its plugin has died after the call of that number: when it
// was booting, it boots anew; else it takes another process, and recovers the task. It returns
// the number of the call that is next.
func (l *life) goOn(after int, calls []call) (next int) {
	l.t.Helper()
	if after < l.booted-1 {
		l.do(calls[:l.booted]...)
		return l.booted
	}
	l.do(l.dispense()...)
	if err := l.RecoverAll(); err != nil {
		if errors.Is(err, host.ErrExited) {
			l.t.Fatalf("the plugin died of a recovery: %v", err)
		}
		l.lost = err
	}
	return after + 1
}
