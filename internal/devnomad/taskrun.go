package devnomad

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// taskRun runs one task of an allocation over all its restarts.
type taskRun struct {
	r    *allocRun
	task *nomad.Task

	mu      sync.Mutex
	current Task // nil: not running
	restart chan struct{}
}

func newTaskRun(r *allocRun, t *nomad.Task) *taskRun {
	return &taskRun{r: r, task: t, restart: make(chan struct{}, 1)}
}

// run starts the task again and again until the restart policy, an operator or
// ctx ends it.
func (t *taskRun) run(ctx context.Context) {
	policy := newRestarts(t.task.RestartPolicy, *t.r.placed.Job.Type)
	t.note("Task Setup", "Building Task Directory", func(e *nomad.TaskEvent) {
		e.Message = "Building Task Directory"
		e.Details = map[string]string{"message": e.Message}
	})
	for ctx.Err() == nil {
		exit, asked, err := t.once(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			t.note("Driver Failure", err.Error(), func(e *nomad.TaskEvent) {
				e.DriverError = err.Error()
			})
			t.noteEnd("Error was unrecoverable")
			t.dead(true)
			return
		}
		if !asked && !t.again(ctx, policy, exit) {
			return
		}
		t.r.change(t.task.Name, func(s *nomad.TaskState) {
			s.State, s.Restarts, s.LastRestart = "pending", s.Restarts+1, t.r.c.now()
		})
	}
	if errors.Is(context.Cause(ctx), errSibling) {
		t.note("Sibling Task Failed", "Task's sibling failed", nil)
	}
	t.dead(false)
}

// once is one start to its end; asked: an operator wants the next start.
func (t *taskRun) once(ctx context.Context) (exit Exit, asked bool, err error) {
	task, err := t.start(ctx)
	if err != nil || task == nil {
		return Exit{}, false, err
	}
	t.hold(task)
	defer t.hold(nil)
	t.note("Started", "Task started by client", nil)
	t.r.change(t.task.Name, func(s *nomad.TaskState) {
		s.State, s.StartedAt = "running", t.r.c.now()
	})
	t.r.registerServices(t.task.Services, t.task.Name)

	// Not the cluster's context: whatever ends, the process is to be killed first.
	waitCtx, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	done := make(chan Exit, 1)
	t.r.c.spawn(func() { done <- t.wait(waitCtx, task) })
	select {
	case exit = <-done:
		t.noteExit(exit)
		return exit, false, nil
	case <-t.restart:
		asked = true
	case <-ctx.Done():
	}
	err = t.kill(task, asked)
	if err != nil {
		giveUp()
	}
	exit = <-done
	t.noteExit(exit)
	t.note("Killed", "Task successfully killed", func(e *nomad.TaskEvent) {
		if err != nil {
			e.DisplayMessage, e.KillError = err.Error(), err.Error()
		}
	})
	return exit, asked, nil
}

func (t *taskRun) start(ctx context.Context) (Task, error) {
	runner := t.r.c.runner(t.task.Driver)
	if runner == nil {
		return nil, fmt.Errorf("cannot start task %q: no driver %q", t.task.Name, t.task.Driver)
	}
	return runner.Start(ctx, t.spec())
}

func (t *taskRun) wait(ctx context.Context, task Task) Exit {
	exit, err := task.Wait(ctx)
	if err != nil && ctx.Err() == nil {
		exit.Err = err.Error()
	}
	return exit
}

// kill is the polite end: shutdown delay, signal, kill timeout.
// An error means that the task has not ended.
func (t *taskRun) kill(task Task, restart bool) error {
	grace := 5 * time.Second
	if k := t.task.KillTimeout; k != nil {
		grace = *k
	}
	if restart {
		t.note("Restart Signaled", "User requested task to restart", nil)
	} else {
		t.r.delayShutdown(t.task.ShutdownDelay)
	}
	t.note("Killing", fmt.Sprintf("Sent interrupt. Waiting %v before force killing", grace),
		func(e *nomad.TaskEvent) { e.KillTimeout = grace })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.r.c.ctx), grace+killMargin)
	defer cancel()
	if t.r.c.ctx.Err() != nil {
		grace = 0 // the whole cluster ends: no time for manners
	}
	return task.Stop(ctx, t.task.KillSignal, grace)
}

// killMargin is what ending by force may take after the grace period.
const killMargin = 10 * time.Second

// again asks the restart policy, and waits out its delay.
func (t *taskRun) again(ctx context.Context, policy *restarts, exit Exit) bool {
	delay, why, ok := policy.next(exit, time.Now())
	if !ok {
		if exit.Failed() {
			t.noteEnd(why)
		}
		t.dead(exit.Failed())
		return false
	}
	t.note("Restarting", fmt.Sprintf("Task restarting in %v", delay), func(e *nomad.TaskEvent) {
		e.RestartReason, e.StartDelay = why, int64(delay)
	})
	t.r.change(t.task.Name, func(s *nomad.TaskState) { s.State = "pending" })
	if !sleep(ctx, delay) {
		t.dead(false)
		return false
	}
	return true
}

func (t *taskRun) dead(failed bool) {
	t.r.change(t.task.Name, func(s *nomad.TaskState) {
		s.State, s.Failed, s.FinishedAt = "dead", failed, t.r.c.now()
	})
}

func (t *taskRun) hold(task Task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = task
}

func (t *taskRun) running() Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

func (t *taskRun) note(kind, display string, fill func(*nomad.TaskEvent)) {
	t.r.event(t.task.Name, kind, display, fill)
}

// noteDriver is what the driver itself tells.
func (t *taskRun) noteDriver(message string, details map[string]string) {
	t.note("Driver", message, func(e *nomad.TaskEvent) {
		e.DriverMessage = message
		maps.Copy(e.Details, details)
	})
}

// noteEnd says why a failed task is not started again.
func (t *taskRun) noteEnd(why string) {
	t.note("Not Restarting", why, func(e *nomad.TaskEvent) {
		e.RestartReason, e.FailsTask = why, true
	})
}

func (t *taskRun) noteExit(x Exit) {
	msg := fmt.Sprintf("Exit Code: %d", x.Code)
	if x.Signal != 0 {
		msg += fmt.Sprintf(", Signal: %d", x.Signal)
	}
	if x.Err != "" {
		msg += fmt.Sprintf(", Exit Message: %q", x.Err)
	}
	t.note("Terminated", msg, func(e *nomad.TaskEvent) {
		e.ExitCode, e.Signal, e.Message = x.Code, x.Signal, x.Err
		e.Details = map[string]string{
			"exit_code": fmt.Sprint(x.Code), "signal": fmt.Sprint(x.Signal),
			"oom_killed": fmt.Sprint(x.OOMKilled),
		}
	})
}
