package plugins_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"doze/plugins"
	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
)

// Timer is a driver whose tasks are periods of time: config { for = "30s" }.
type Timer struct {
	drivers.EventLog
	tasks sync.Map // by id, the *period
}

type period struct {
	end  time.Time
	ctx  context.Context // ends with the period, or when it is stopped
	stop context.CancelFunc
}

func (*Timer) Info() base.Info { return base.Info{Name: "timer", Version: "0.1.0"} }

func (*Timer) TaskSchema() hclspec.Spec {
	return hclspec.Object{"for": hclspec.Default{
		Primary: hclspec.Attr{Type: "string"}, Fallback: hclspec.String("1m")}}
}

func (*Timer) Capabilities() drivers.Capabilities { return drivers.Capabilities{} }

func (*Timer) Fingerprint(_ context.Context, send func(drivers.Fingerprint) error) error {
	return send(drivers.Fingerprint{Health: drivers.Healthy, Reason: "clocks run here"})
}

func (t *Timer) Start(_ context.Context, task drivers.TaskConfig) (drivers.Started, error) {
	var cfg struct {
		For time.Duration `hcl:"for"`
	}
	if err := task.Decode(&cfg); err != nil {
		return drivers.Started{}, err
	}
	end := time.Now().Add(cfg.For)
	t.keep(task.ID, end)
	t.Emit(drivers.Event{TaskID: task.ID, AllocID: task.AllocID, TaskName: task.Name,
		Message: fmt.Sprintf("Runs for %s", cfg.For)})
	return drivers.Started{State: []byte(end.Format(time.RFC3339Nano))}, nil
}

func (t *Timer) Recover(_ context.Context, h drivers.Handle) error {
	end, err := time.Parse(time.RFC3339Nano, string(h.State))
	if err != nil {
		return fmt.Errorf("cannot recover task %q: %w", h.Task.ID, err)
	}
	t.keep(h.Task.ID, end)
	return nil
}

func (t *Timer) keep(id string, end time.Time) {
	ctx, stop := context.WithDeadline(context.Background(), end)
	if _, known := t.tasks.LoadOrStore(id, &period{end: end, ctx: ctx, stop: stop}); known {
		stop()
	}
}

func (t *Timer) Wait(ctx context.Context, id string) (drivers.ExitResult, error) {
	task, ok := t.tasks.Load(id)
	if !ok {
		return drivers.ExitResult{}, drivers.ErrTaskNotFound
	}
	select {
	case <-ctx.Done():
		return drivers.ExitResult{}, ctx.Err()
	case <-task.(*period).ctx.Done():
		return drivers.ExitResult{}, nil
	}
}

func (t *Timer) Stop(_ context.Context, id string, _ drivers.StopRequest) error {
	task, ok := t.tasks.Load(id)
	if !ok {
		return drivers.ErrTaskNotFound
	}
	task.(*period).stop()
	return nil
}

func (t *Timer) Destroy(_ context.Context, id string, force bool) error {
	task, ok := t.tasks.Load(id)
	if !ok {
		return drivers.ErrTaskNotFound
	}
	if p := task.(*period); p.ctx.Err() == nil && !force {
		return fmt.Errorf("cannot destroy task %q: it is running", id)
	}
	task.(*period).stop()
	t.tasks.Delete(id)
	return nil
}

// The main function of a plugin.
func Example() {
	err := plugins.Serve(func(hclog.Logger) drivers.Driver { return &Timer{} })
	fmt.Fprintln(os.Stdout, err)
	// Output: this is a Nomad plugin: it is started by a Nomad agent, from its plugin_dir
}
