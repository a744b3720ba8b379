package host

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"doze/plugins/drivers"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/driverpb"
)

// Start starts a task. Its handle is what an agent would remember.
func (p *Plugin) Start(
	ctx context.Context, t drivers.TaskConfig,
) (drivers.Handle, *drivers.NetworkOverride, error) {
	r, err := p.driver.StartTask(ctx, &driverpb.StartTaskRequest{Task: wire.FromTask(t)})
	if err != nil {
		return drivers.Handle{}, nil, p.failed(ctx, err)
	}
	if r.GetHandle().GetConfig() == nil {
		return drivers.Handle{}, nil, errors.New("the plugin's handle lacks the task's config: " +
			"no agent would recover the task")
	}
	return wire.ToHandle(r.GetHandle()), wire.ToOverride(r.GetNetworkOverride()), nil
}

// Recover hands a started task to the plugin, in the way that agents do: without
// the task's id beside the handle, without the task's `config` block in it.
func (p *Plugin) Recover(ctx context.Context, h drivers.Handle) error {
	_, err := p.driver.RecoverTask(ctx, &driverpb.RecoverTaskRequest{Handle: wire.FromHandle(h)})
	return p.failed(ctx, err)
}

// Wait waits until the task has ended.
func (p *Plugin) Wait(ctx context.Context, id string) (drivers.ExitResult, error) {
	r, err := p.driver.WaitTask(ctx, &driverpb.WaitTaskRequest{TaskId: id})
	if err != nil {
		return drivers.ExitResult{}, p.failed(ctx, err)
	}
	if r.GetResult() == nil {
		return drivers.ExitResult{}, errors.New("the plugin has left out the result: " +
			"agents before 1.11.3 would panic")
	}
	out := wire.ToExit(r.GetResult())
	out.Message = r.GetErr()
	return out, nil
}

// Stop ends a task and waits until it has ended.
func (p *Plugin) Stop(ctx context.Context, id string, how drivers.StopRequest) error {
	_, err := p.driver.StopTask(ctx, &driverpb.StopTaskRequest{
		TaskId: id, Signal: how.Signal, Timeout: durationpb.New(how.Timeout)})
	return p.failed(ctx, err)
}

// Destroy makes the plugin forget a task.
func (p *Plugin) Destroy(ctx context.Context, id string, force bool) error {
	_, err := p.driver.DestroyTask(ctx, &driverpb.DestroyTaskRequest{TaskId: id, Force: force})
	return p.failed(ctx, err)
}

// Inspect asks what the plugin knows of a task.
func (p *Plugin) Inspect(ctx context.Context, id string) (drivers.Status, error) {
	r, err := p.driver.InspectTask(ctx, &driverpb.InspectTaskRequest{TaskId: id})
	if err != nil {
		return drivers.Status{}, p.failed(ctx, err)
	}
	return wire.ToStatus(r), nil
}

// Signal passes a signal to a task.
func (p *Plugin) Signal(ctx context.Context, id, signal string) error {
	_, err := p.driver.SignalTask(ctx, &driverpb.SignalTaskRequest{TaskId: id, Signal: signal})
	return p.failed(ctx, err)
}

// Output is what a command has written, and how it ended.
type Output struct {
	Stdout, Stderr []byte
	Exit           drivers.ExitResult
}

// Exec runs a command in a task, as a script check does. A timeout of 0 is none.
func (p *Plugin) Exec(
	ctx context.Context, id string, command []string, timeout time.Duration,
) (Output, error) {
	r, err := p.driver.ExecTask(ctx, &driverpb.ExecTaskRequest{
		TaskId: id, Command: command, Timeout: durationpb.New(timeout)})
	if err != nil {
		return Output{}, p.failed(ctx, err)
	}
	if r.GetResult() == nil {
		return Output{}, errors.New("the plugin has left out the result")
	}
	return Output{
		Stdout: r.GetStdout(), Stderr: r.GetStderr(), Exit: wire.ToExit(r.GetResult())}, nil
}

// CreateNetwork makes the network of an allocation.
func (p *Plugin) CreateNetwork(
	ctx context.Context, allocID, hostname string,
) (n *drivers.Network, created bool, err error) {
	r, err := p.driver.CreateNetwork(ctx,
		&driverpb.CreateNetworkRequest{AllocId: allocID, Hostname: hostname})
	if err != nil {
		return nil, false, p.failed(ctx, err)
	}
	return wire.ToNetwork(r.GetIsolationSpec()), r.GetCreated(), nil
}

// DestroyNetwork removes the network of an allocation.
func (p *Plugin) DestroyNetwork(ctx context.Context, allocID string, n drivers.Network) error {
	_, err := p.driver.DestroyNetwork(ctx,
		&driverpb.DestroyNetworkRequest{AllocId: allocID, IsolationSpec: wire.FromNetwork(&n)})
	return p.failed(ctx, err)
}
