package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"doze/plugins/drivers"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/driverpb"
)

// Driver answers as a task driver.
type Driver struct {
	driverpb.UnimplementedDriverServer
	driver drivers.Driver
}

// NewDriver returns the service of a driver.
func NewDriver(d drivers.Driver) *Driver { return &Driver{driver: d} }

// Init implements the RPC; a driver need not have it.
func (s *Driver) Init(
	ctx context.Context, _ *driverpb.InitRequest,
) (*driverpb.InitResponse, error) {
	if d, ok := s.driver.(drivers.Initializer); ok {
		if err := d.Init(ctx); err != nil {
			return nil, wire.Error(ctx, err)
		}
	}
	return &driverpb.InitResponse{}, nil
}

// Shutdown implements the RPC; a driver need not have it.
func (s *Driver) Shutdown(
	ctx context.Context, _ *driverpb.ShutdownRequest,
) (*driverpb.ShutdownResponse, error) {
	if d, ok := s.driver.(drivers.Shutdowner); ok {
		if err := d.Shutdown(ctx); err != nil {
			return nil, wire.Error(ctx, err)
		}
	}
	return &driverpb.ShutdownResponse{}, nil
}

// TaskConfigSchema implements the RPC. It never answers without a spec, which
// agents follow unasked.
func (s *Driver) TaskConfigSchema(
	context.Context, *driverpb.TaskConfigSchemaRequest,
) (*driverpb.TaskConfigSchemaResponse, error) {
	spec := s.driver.TaskSchema()
	if spec == nil {
		return nil, status.Error(codes.Internal, "the driver has no schema for tasks")
	}
	return &driverpb.TaskConfigSchemaResponse{Spec: wire.FromSpec(spec)}, nil
}

// Capabilities implements the RPC.
func (s *Driver) Capabilities(
	context.Context, *driverpb.CapabilitiesRequest,
) (*driverpb.CapabilitiesResponse, error) {
	c := s.driver.Capabilities()
	out := &driverpb.DriverCapabilities{
		FsIsolation:          driverpb.DriverCapabilities_FSIsolation(c.Filesystem),
		DisableLogCollection: c.NoLogCollection, DynamicWorkloadUsers: c.DynamicUsers,
	}
	_, out.SendSignals = s.driver.(drivers.Signaler)
	_, out.Exec = s.driver.(drivers.Executor)
	_, out.MustCreateNetwork = s.driver.(drivers.NetworkMaker)
	if c.NoMounts {
		out.MountConfigs = driverpb.DriverCapabilities_NO_MOUNTS
	}
	for _, mode := range c.Networks {
		out.NetworkIsolationModes = append(out.NetworkIsolationModes,
			driverpb.NetworkIsolationSpec_NetworkIsolationMode(mode))
	}
	return &driverpb.CapabilitiesResponse{Capabilities: out}, nil
}

// StartTask implements the RPC. The handle always has the task's config, as it was sent but
// for its config block: without it an agent believes the task recovered and asks nobody, and
// what it does not know of it here, a newer agent may.
func (s *Driver) StartTask(
	ctx context.Context, req *driverpb.StartTaskRequest,
) (*driverpb.StartTaskResponse, error) {
	if req.GetTask().GetId() == "" {
		return nil, status.Error(codes.InvalidArgument, "cannot start a task without an id")
	}
	task := wire.ToTask(req.GetTask())
	req.GetTask().MsgpackDriverConfig = nil
	sent := proto.CloneOf(req.GetTask()) // a driver may change what it gets
	started, err := s.driver.Start(ctx, task)
	if err != nil {
		return nil, wire.Error(ctx, err)
	}
	h := wire.FromHandle(drivers.Handle{Version: started.Version, State: started.State})
	h.Config = sent
	return &driverpb.StartTaskResponse{
		Handle: h, NetworkOverride: wire.FromOverride(started.Network)}, nil
}

// RecoverTask implements the RPC. The request's own task_id is not sent: the id is
// in the handle.
func (s *Driver) RecoverTask(
	ctx context.Context, req *driverpb.RecoverTaskRequest,
) (*driverpb.RecoverTaskResponse, error) {
	if req.GetHandle().GetConfig().GetId() == "" {
		return nil, status.Error(codes.InvalidArgument, "cannot recover a task without its config")
	}
	if err := s.driver.Recover(ctx, wire.ToHandle(req.GetHandle())); err != nil {
		return nil, wire.Error(ctx, err)
	}
	return &driverpb.RecoverTaskResponse{}, nil
}

// WaitTask implements the RPC. It never answers without a result: agents before
// 1.11.3 panic.
func (s *Driver) WaitTask(
	ctx context.Context, req *driverpb.WaitTaskRequest,
) (*driverpb.WaitTaskResponse, error) {
	r, err := s.driver.Wait(ctx, req.GetTaskId())
	if err != nil {
		return nil, wire.Error(ctx, err)
	}
	return &driverpb.WaitTaskResponse{Result: wire.FromExit(r), Err: r.Message}, nil
}

// StopTask implements the RPC. A task that is not there is stopped: after an error
// an agent tries again for minutes.
func (s *Driver) StopTask(
	ctx context.Context, req *driverpb.StopTaskRequest,
) (*driverpb.StopTaskResponse, error) {
	err := s.driver.Stop(ctx, req.GetTaskId(), drivers.StopRequest{
		Signal: req.GetSignal(), Timeout: wire.ToDuration(req.GetTimeout())})
	if err != nil && !errors.Is(err, drivers.ErrTaskNotFound) &&
		!errors.Is(err, drivers.ErrTaskExited) {
		return nil, wire.Error(ctx, err)
	}
	return &driverpb.StopTaskResponse{}, nil
}

// DestroyTask implements the RPC. A task that is not there is destroyed.
func (s *Driver) DestroyTask(
	ctx context.Context, req *driverpb.DestroyTaskRequest,
) (*driverpb.DestroyTaskResponse, error) {
	err := s.driver.Destroy(ctx, req.GetTaskId(), req.GetForce())
	if err != nil && !errors.Is(err, drivers.ErrTaskNotFound) {
		return nil, wire.Error(ctx, err)
	}
	return &driverpb.DestroyTaskResponse{}, nil
}
