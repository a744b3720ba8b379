package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/host"
	"doze/plugins/proto/driverpb"
)

// stormCalls are how many calls each of stormCallers makes.
const (
	stormCallers = 4
	stormCalls   = 40
)

// Storm calls a driver in an order that no agent would, from several sides at once, about
// tasks that it knows, knew and never knew, and with what callers leave out or make up. It
// fails if the plugin ends, hangs or answers with what no plugin may, and if anything is left
// in the end. The seed says which order; the same one need not do the same again.
func Storm(t *testing.T, s Subject, seed uint64) {
	a := Boot(t, s.Config)
	st := &storm{a: a}
	for _, config := range []map[string]any{s.Long, s.Long, s.Short} {
		task := s.newTask(a, config)
		st.tasks = append(st.tasks, task)
		_, err := a.Run(task.TaskConfig)
		a.must("start the task", err)
	}
	var callers sync.WaitGroup
	for caller := range uint64(stormCallers) {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(seed, caller))
			for range stormCalls {
				if problem := st.blow(r); problem != nil {
					t.Errorf("with seed %d %v", seed, problem)
				}
			}
		})
	}
	callers.Wait()
	for _, task := range st.tasks {
		a.must("end what is left", a.Destroy(t.Context(), task.ID, true))
	}
}

type storm struct {
	a     *Agent
	tasks []*Task
}

// blow makes one call.
func (st *storm) blow(r *rand.Rand) error {
	calls := st.calls(r)
	c := calls[r.IntN(len(calls))]
	limit := patience
	if c.hurried || r.IntN(4) == 0 {
		limit = time.Duration(r.IntN(30)) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := c.run(ctx)
	switch got := outcomeOf(ctx, err); {
	case errors.Is(err, host.ErrExited):
		return fmt.Errorf("the plugin ended by %s", c.name)
	case got == broken:
		return fmt.Errorf("%s returned %w", c.name, err)
	case got == open && limit == patience:
		return fmt.Errorf("%s hangs", c.name)
	}
	return nil
}

// stormCall is a call; one that is hurried may be right to go on for ever.
type stormCall struct {
	name    string
	hurried bool
	run     func(ctx context.Context) error
}

// id is of a task that there is or is not.
func (st *storm) id(r *rand.Rand) string {
	if i := r.IntN(len(st.tasks) + 3); i < len(st.tasks) {
		return st.tasks[i].ID
	}
	return pick(r, "", "no/such/task", "../../etc")
}

func (st *storm) calls(r *rand.Rand) []stormCall {
	id := st.id(r)
	return slices.Concat(st.streams(r, id), st.ofTask(r, id), st.ofAgent(r, id))
}

func (st *storm) ofTask(r *rand.Rand, id string) []stormCall {
	d := st.a.Driver()
	return []stormCall{
		{"Wait", true, func(ctx context.Context) error {
			_, err := d.WaitTask(ctx, &driverpb.WaitTaskRequest{TaskId: id})
			return err
		}},
		{"Stop", false, func(ctx context.Context) error {
			_, err := d.StopTask(ctx, &driverpb.StopTaskRequest{TaskId: id,
				Signal:  pick(r, "", "SIGTERM", "SIGNONSENSE", "9"),
				Timeout: pick(r, nil, durationpb.New(-1), durationpb.New(50*time.Millisecond))})
			return err
		}},
		{"Destroy", false, func(ctx context.Context) error {
			_, err := d.DestroyTask(ctx,
				&driverpb.DestroyTaskRequest{TaskId: id, Force: r.IntN(4) == 0})
			return err
		}},
		{"Signal", false, func(ctx context.Context) error {
			_, err := d.SignalTask(ctx, &driverpb.SignalTaskRequest{TaskId: id,
				Signal: pick(r, "", "SIGCONT", "SIGSTOP", "SIGHUP", "doze:nonsense")})
			return err
		}},
		{"Inspect", false, func(ctx context.Context) error {
			_, err := d.InspectTask(ctx, &driverpb.InspectTaskRequest{TaskId: id})
			return err
		}},
		{"Exec", false, func(ctx context.Context) error {
			_, err := d.ExecTask(ctx, &driverpb.ExecTaskRequest{TaskId: id,
				Command: pick(r, nil, []string{""}, []string{"true"}, []string{"/no/such"}),
				Timeout: pick(r, nil, durationpb.New(time.Second))})
			return err
		}},
	}
}

func (st *storm) ofAgent(r *rand.Rand, id string) []stormCall {
	d := st.a.Driver()
	return []stormCall{
		{"Start", false, func(ctx context.Context) error { return st.start(ctx, r, id) }},
		{"Recover", false, func(ctx context.Context) error { return st.recover(ctx, r) }},
		{"Init", false, func(ctx context.Context) error { return st.a.Init(ctx) }},
		{"SetConfig", false, func(ctx context.Context) error {
			return st.a.SetConfig(ctx, base.Config{Raw: st.a.raw, Agent: pick(r, nil, &base.Agent{})})
		}},
		{"PluginInfo", false, func(ctx context.Context) error {
			_, err := st.a.Plugin.Info(ctx)
			return err
		}},
		{"CreateNetwork", false, func(ctx context.Context) error {
			_, err := d.CreateNetwork(ctx, &driverpb.CreateNetworkRequest{})
			return err
		}},
		{"DestroyNetwork", false, func(ctx context.Context) error {
			_, err := d.DestroyNetwork(ctx, &driverpb.DestroyNetworkRequest{AllocId: id})
			return err
		}},
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// start starts a task that is there already, one that cannot be, or one that may.
func (st *storm) start(ctx context.Context, r *rand.Rand, id string) error {
	task := st.tasks[r.IntN(len(st.tasks))].TaskConfig
	switch r.IntN(3) {
	case 0:
		task.Raw = []byte{0x81, 0xa1} // is cut short
	case 1:
		task.ID, task.Raw = id, nil
	}
	_, _, err := st.a.Start(ctx, task)
	return err
}

// recover recovers a task from its handle, or from nothing of the kind.
func (st *storm) recover(ctx context.Context, r *rand.Rand) error {
	req := pick(r, &driverpb.RecoverTaskRequest{},
		&driverpb.RecoverTaskRequest{Handle: &driverpb.TaskHandle{DriverState: []byte("{}")}})
	if r.IntN(2) == 0 {
		_, err := st.a.Driver().RecoverTask(ctx, req)
		return err
	}
	h := st.a.Handles()[st.tasks[r.IntN(len(st.tasks))].ID]
	if r.IntN(3) == 0 {
		h.State = h.State[:len(h.State)/2]
	}
	return st.a.Recover(ctx, drivers.Handle{Version: r.IntN(3), State: h.State, Task: h.Task})
}
