package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"doze/plugins/drivers"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/driverpb"
)

// leastInterval is how often stats are collected at most: an interval that was not
// sent, or is negative, must not make a driver spin.
const leastInterval = 100 * time.Millisecond

// sender lets a driver send from any of its goroutines.
type sender[T any] struct {
	mu     sync.Mutex
	stream grpc.ServerStreamingServer[T]
	sends  int
}

func (s *sender[T]) send(msg *T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sends++
	return s.stream.Send(msg)
}

func (s *sender[T]) sent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sends
}

// hold keeps a stream open that has nothing more to tell: an agent takes its end
// for a failure and asks again, in the case of stats every second.
func hold(ctx context.Context) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// retryPause is between two attempts of a driver's stream that has failed. Agents make none:
// they open the next at once, thousands in a second, and log each.
const retryPause = 5 * time.Second

// pause reports whether ctx goes on after retryPause.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Fingerprint implements the RPC. A driver that fails to say what it can do is unhealthy, for
// that reason, and is asked again.
func (s *Driver) Fingerprint(
	_ *driverpb.FingerprintRequest,
	stream grpc.ServerStreamingServer[driverpb.FingerprintResponse],
) error {
	ctx, out := stream.Context(), sender[driverpb.FingerprintResponse]{stream: stream}
	for {
		before := out.sent()
		err := s.driver.Fingerprint(ctx, func(f drivers.Fingerprint) error {
			msg, err := wire.FromFingerprint(f)
			if err != nil {
				return err
			}
			return out.send(msg)
		})
		if err == nil && out.sent() == before {
			err = errors.New("the driver has sent no fingerprint")
		}
		if err == nil || ctx.Err() != nil {
			return hold(ctx)
		}
		if err := out.send(unhealthy(err)); err != nil {
			return err
		}
		if !pause(ctx) {
			return hold(ctx)
		}
	}
}

func unhealthy(err error) *driverpb.FingerprintResponse {
	return &driverpb.FingerprintResponse{Health: driverpb.FingerprintResponse_UNHEALTHY,
		HealthDescription: "cannot fingerprint: " + err.Error()}
}

// TaskEvents implements the RPC. An error is for the agent's log, and its next stream.
func (s *Driver) TaskEvents(
	_ *driverpb.TaskEventsRequest,
	stream grpc.ServerStreamingServer[driverpb.DriverTaskEvent],
) error {
	ctx, out := stream.Context(), sender[driverpb.DriverTaskEvent]{stream: stream}
	if d, ok := s.driver.(drivers.EventSource); ok {
		err := d.Events(ctx, func(e drivers.Event) error { return out.send(wire.FromEvent(e)) })
		if err != nil && pause(ctx) {
			return wire.Error(ctx, err)
		}
	}
	return hold(ctx)
}

// TaskStats implements the RPC. A driver without stats keeps the stream open and
// silent: the error that Nomad has for it only arrives after the agent has taken
// the stream for one that works.
func (s *Driver) TaskStats(
	req *driverpb.TaskStatsRequest,
	stream grpc.ServerStreamingServer[driverpb.TaskStatsResponse],
) error {
	ctx, out := stream.Context(), sender[driverpb.TaskStatsResponse]{stream: stream}
	d, ok := s.driver.(drivers.StatsSource)
	if !ok {
		return hold(ctx)
	}
	id, every := req.GetTaskId(), wire.ToDuration(req.GetCollectionInterval())
	err := d.Stats(ctx, id, max(every, leastInterval), func(st drivers.Stats) error {
		return out.send(&driverpb.TaskStatsResponse{Stats: wire.FromStats(id, st)})
	})
	if ctx.Err() != nil {
		return hold(ctx) // the caller has left, not the task ended
	}
	return wire.Error(ctx, err)
}
