package server

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/drivers"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/driverpb"
)

func unsupported(what string) error {
	return status.Errorf(codes.Unimplemented, "the driver does not support %s", what)
}

// InspectTask implements the RPC.
func (s *Driver) InspectTask(
	ctx context.Context, req *driverpb.InspectTaskRequest,
) (*driverpb.InspectTaskResponse, error) {
	d, ok := s.driver.(drivers.Inspector)
	if !ok {
		return nil, unsupported("inspecting tasks")
	}
	st, err := d.Inspect(ctx, req.GetTaskId())
	if err != nil {
		return nil, wire.Error(ctx, err)
	}
	return wire.FromStatus(st), nil
}

// SignalTask implements the RPC. Agents call it whatever the capabilities say.
func (s *Driver) SignalTask(
	ctx context.Context, req *driverpb.SignalTaskRequest,
) (*driverpb.SignalTaskResponse, error) {
	d, ok := s.driver.(drivers.Signaler)
	if !ok {
		return nil, unsupported("signals")
	}
	if err := d.Signal(ctx, req.GetTaskId(), req.GetSignal()); err != nil {
		return nil, wire.Error(ctx, err)
	}
	return &driverpb.SignalTaskResponse{}, nil
}

// CreateNetwork implements the RPC.
func (s *Driver) CreateNetwork(
	ctx context.Context, req *driverpb.CreateNetworkRequest,
) (*driverpb.CreateNetworkResponse, error) {
	d, ok := s.driver.(drivers.NetworkMaker)
	if !ok {
		return nil, unsupported("making networks")
	}
	n, created, err := d.CreateNetwork(ctx, req.GetAllocId(), req.GetHostname())
	if err != nil {
		return nil, wire.Error(ctx, err)
	}
	return &driverpb.CreateNetworkResponse{
		IsolationSpec: wire.FromNetwork(&n), Created: created}, nil
}

// DestroyNetwork implements the RPC.
func (s *Driver) DestroyNetwork(
	ctx context.Context, req *driverpb.DestroyNetworkRequest,
) (*driverpb.DestroyNetworkResponse, error) {
	d, ok := s.driver.(drivers.NetworkMaker)
	if !ok {
		return nil, unsupported("making networks")
	}
	var n drivers.Network
	if spec := wire.ToNetwork(req.GetIsolationSpec()); spec != nil {
		n = *spec
	}
	if err := d.DestroyNetwork(ctx, req.GetAllocId(), n); err != nil {
		return nil, wire.Error(ctx, err)
	}
	return &driverpb.DestroyNetworkResponse{}, nil
}
