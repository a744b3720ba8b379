package host

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"doze/plugins/drivers"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/driverpb"
)

// Fingerprint gives each fingerprint to a function until ctx or the stream ends, or
// the function fails. It returns nil only if the plugin has ended the stream, which
// an agent takes for a failure.
func (p *Plugin) Fingerprint(ctx context.Context, each func(drivers.Fingerprint) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.driver.Fingerprint(ctx, &driverpb.FingerprintRequest{})
	if err != nil {
		return p.failed(ctx, err)
	}
	return receive(ctx, p, stream, func(r *driverpb.FingerprintResponse) error {
		if r.GetErr() != "" {
			return errors.New(r.GetErr())
		}
		return each(wire.ToFingerprint(r))
	})
}

// Events gives each event to a function, as Fingerprint does.
func (p *Plugin) Events(ctx context.Context, each func(drivers.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.driver.TaskEvents(ctx, &driverpb.TaskEventsRequest{})
	if err != nil {
		return p.failed(ctx, err)
	}
	return receive(ctx, p, stream, func(r *driverpb.DriverTaskEvent) error {
		return each(wire.ToEvent(r))
	})
}

// Stats gives what a task uses to a function, every interval, as Fingerprint does;
// the stream also ends with the task.
func (p *Plugin) Stats(
	ctx context.Context, id string, every time.Duration, each func(drivers.Stats) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.driver.TaskStats(ctx, &driverpb.TaskStatsRequest{
		TaskId: id, CollectionInterval: durationpb.New(every)})
	if err != nil {
		return p.failed(ctx, err)
	}
	return receive(ctx, p, stream, func(r *driverpb.TaskStatsResponse) error {
		if r.GetStats().GetTimestamp() == nil || r.GetStats().GetAggResourceUsage() == nil {
			return errors.New("the plugin has left out the stats' time or usage: " +
				"an agent would panic")
		}
		return each(wire.ToStats(r.GetStats()))
	})
}

func receive[T any](
	ctx context.Context, p *Plugin, stream grpc.ServerStreamingClient[T], each func(*T) error,
) error {
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return p.failed(ctx, err)
		}
		if err := each(msg); err != nil {
			return err
		}
	}
}
