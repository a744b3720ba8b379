package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"doze/plugins/base"
	"doze/plugins/drivers"
)

// Process is the example with everything optional but making networks, and with events.
type Process struct{ Plain }

var (
	_ drivers.Signaler    = (*Process)(nil)
	_ drivers.Executor    = (*Process)(nil)
	_ drivers.StatsSource = (*Process)(nil)
	_ drivers.EventSource = (*Process)(nil)
	_ drivers.Inspector   = (*Process)(nil)
)

func (*Process) Info() base.Info { return base.Info{Name: "process", Version: "0.1.0"} }

func (*Process) Fingerprint(_ context.Context, send func(drivers.Fingerprint) error) error {
	return send(drivers.Fingerprint{Health: drivers.Healthy, Reason: "it is there",
		Attributes: map[string]drivers.Attribute{"driver.process.kind": drivers.Text("plain")}})
}

func (d *Process) Start(
	ctx context.Context, task drivers.TaskConfig,
) (drivers.Started, error) {
	started, err := d.Plain.Start(ctx, task)
	if err != nil {
		return drivers.Started{}, err
	}
	d.Emit(drivers.Event{TaskID: task.ID, AllocID: task.AllocID, TaskName: task.Name,
		Message: "Began as a process", Details: map[string]string{"state": string(started.State)}})
	return started, nil
}

func (d *Process) Signal(_ context.Context, id, signal string) error {
	p, err := d.Find(id)
	if err != nil {
		return err
	}
	return p.Signal(signal)
}

// Exec runs a command beside the task. The command "goroutines" tells how many there are in
// this process.
func (d *Process) Exec(
	ctx context.Context, id string, s drivers.Session,
) (drivers.ExitResult, error) {
	if _, err := d.Find(id); err != nil {
		return drivers.ExitResult{}, err
	}
	if s.Command[0] == "goroutines" {
		_, err := fmt.Fprint(s.Stdout, runtime.NumGoroutine())
		return drivers.ExitResult{}, err
	}
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		err = nil
	}
	return drivers.ExitResult{Code: cmd.ProcessState.ExitCode()}, err
}

func (d *Process) Stats(ctx context.Context, id string, every time.Duration,
	send func(drivers.Stats) error) error {
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		_, err := d.Find(id)
		if errors.Is(err, drivers.ErrTaskExited) {
			return nil
		}
		if err == nil {
			err = send(drivers.Stats{At: time.Now()})
		}
		if err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}
