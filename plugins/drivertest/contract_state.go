package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"doze/plugins/drivers"
)

// situation is a state that a task may be in, for a driver.
type situation int

const (
	unknown situation = iota
	running
	exited
	destroyed
)

// stateRow is one call that changes nothing, and what may come of it in each situation.
type stateRow struct {
	name string
	run  func(ctx context.Context, a *Agent, task *Task) error
	want [destroyed + 1]outcome
}

// A driver need not have the calls that may be unsupported.
func stateRows() []stateRow {
	const optional = unsupported
	gone := absent | refused | optional
	return []stateRow{
		{"Wait", func(ctx context.Context, a *Agent, task *Task) error {
			_, err := a.Wait(ctx, task.ID)
			return err
		}, [...]outcome{absent, open, fine, absent}},
		{"Inspect", func(ctx context.Context, a *Agent, task *Task) error {
			_, err := a.Inspect(ctx, task.ID)
			return err
		}, [...]outcome{absent | optional, fine | optional, fine | optional, absent | optional}},
		{"Signal SIGCONT", signal("SIGCONT"), [...]outcome{gone, fine | optional, gone, gone}},
		{"Signal of no name", signal("doze:nonsense"), [...]outcome{gone, refused | optional, gone, gone}},
		{"Exec", exec("true"), [...]outcome{gone, fine | optional, gone, gone}},
		{"Exec of nothing", exec(), [...]outcome{gone, refused | optional, gone, gone}},
		{"ExecStream", execStream("true"), [...]outcome{gone, fine | optional, gone, gone}},
		{"ExecStream of nothing", execStream(), [...]outcome{gone, refused | optional, gone, gone}},
		// A driver without stats keeps the stream open and silent.
		{"Stats", func(ctx context.Context, a *Agent, task *Task) error {
			return a.Stats(ctx, task.ID, time.Second, func(drivers.Stats) error { return nil })
		}, [...]outcome{absent | refused | open, open, fine | absent | refused | open,
			absent | refused | open}},
		{"Recover", func(ctx context.Context, a *Agent, task *Task) error {
			return a.Recover(ctx, task.handle)
		}, [...]outcome{absent | refused, fine, fine, absent | refused}},
		{"Start of the same id", func(ctx context.Context, a *Agent, task *Task) error {
			_, _, err := a.Start(ctx, task.TaskConfig)
			return err
		}, [...]outcome{0, refused, refused, 0}},
		{"Stop", func(ctx context.Context, a *Agent, task *Task) error {
			return a.Stop(ctx, task.ID, drivers.StopRequest{Timeout: time.Second})
		}, [...]outcome{fine, 0, fine, fine}},
		{"Destroy by force", destroy(true), [...]outcome{fine, 0, 0, fine}},
		{"Destroy", destroy(false), [...]outcome{fine, refused, 0, fine}},
	}
}

func signal(name string) func(context.Context, *Agent, *Task) error {
	return func(ctx context.Context, a *Agent, task *Task) error {
		return a.Signal(ctx, task.ID, name)
	}
}

func exec(command ...string) func(context.Context, *Agent, *Task) error {
	return func(ctx context.Context, a *Agent, task *Task) error {
		_, err := a.Exec(ctx, task.ID, command, time.Second)
		return err
	}
}

func execStream(command ...string) func(context.Context, *Agent, *Task) error {
	return func(ctx context.Context, a *Agent, task *Task) error {
		_, err := a.ExecStream(ctx, task.ID, drivers.Session{Command: command})
		return err
	}
}

func destroy(force bool) func(context.Context, *Agent, *Task) error {
	return func(ctx context.Context, a *Agent, task *Task) error {
		return a.Destroy(ctx, task.ID, force)
	}
}

// everyCallInEveryState makes each call of the table in each situation, twice.
func everyCallInEveryState(t *testing.T, s Subject) {
	a := Boot(t, s.Config)
	for now, name := range []string{"unknown", "running", "exited", "destroyed"} {
		t.Run(name, func(t *testing.T) {
			task := s.bring(a, situation(now))
			for range 2 {
				for _, row := range stateRows() {
					if want := row.want[now]; want != 0 {
						row.check(t, a, task, want)
					}
				}
			}
		})
	}
}

func (row stateRow) check(t *testing.T, a *Agent, task *Task, want outcome) {
	t.Helper()
	limit := patience
	if want&open != 0 {
		limit = 20 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err := row.run(ctx, a, task)
	if got := outcomeOf(ctx, err); got&want == 0 {
		t.Errorf("%s was %s (%v), should be %s", row.name, got, err, want)
	}
}

// bring brings a task into a situation.
func (s Subject) bring(a *Agent, to situation) *Task {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	config := s.Long
	if to == exited {
		config = s.Short
	}
	task := s.newTask(a, config)
	task.handle = drivers.Handle{Task: task.TaskConfig, State: []byte("none")}
	if to == unknown {
		return task
	}
	h, err := a.Run(task.TaskConfig)
	a.must("start the task", err)
	task.handle = h
	if to == exited {
		_, err := a.Wait(ctx, task.ID)
		a.must("wait for the task", err)
	}
	if to == destroyed {
		err := a.Stop(ctx, task.ID, drivers.StopRequest{Timeout: time.Second})
		a.must("end the task", errors.Join(err, a.Forget(task.ID)))
	}
	return task
}
