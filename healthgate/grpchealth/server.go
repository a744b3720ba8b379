// Package grpchealth answers grpc.health.v1 from a healthgate.Health, for programs that
// have a gRPC server. It decides nothing: serving is what Health.Ready says. It is apart
// from healthgate so that healthgate needs the standard library only.
package grpchealth

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"doze/healthgate"
)

// watchInterval is how often a Watch asks. Health's cache bounds what that costs: any
// number of streams share a run.
const watchInterval = time.Second

// Server implements the Health service of grpc/doc/health-checking.md. Which checks fail
// is never told.
type Server struct {
	healthpb.UnimplementedHealthServer
	health   *healthgate.Health
	services []string
}

// New returns a server that answers for the whole process (the service name "") and for
// each of services, all of which are ready when h is.
func New(h *healthgate.Health, services ...string) *Server {
	return &Server{health: h, services: append([]string{""}, services...)}
}

// Register adds New(h, services...) to r, unless h is disabled: then it serves nothing.
func Register(r grpc.ServiceRegistrar, h *healthgate.Health, services ...string) {
	if h.Enabled() {
		healthpb.RegisterHealthServer(r, New(h, services...))
	}
}

// Check answers NOT_FOUND for a service that New was not given, and the code of ctx's end
// when that came before the checks had answered.
func (s *Server) Check(
	ctx context.Context, req *healthpb.HealthCheckRequest,
) (*healthpb.HealthCheckResponse, error) {
	if !slices.Contains(s.services, req.GetService()) {
		return nil, status.Errorf(codes.NotFound, "unknown service")
	}
	answer, err := s.ask(ctx)
	if err != nil {
		return nil, err
	}
	return &healthpb.HealthCheckResponse{Status: answer}, nil
}

// List answers for every service at once.
func (s *Server) List(
	ctx context.Context, _ *healthpb.HealthListRequest,
) (*healthpb.HealthListResponse, error) {
	answer, err := s.ask(ctx)
	if err != nil {
		return nil, err
	}
	statuses := make(map[string]*healthpb.HealthCheckResponse, len(s.services))
	for _, name := range s.services {
		statuses[name] = &healthpb.HealthCheckResponse{Status: answer}
	}
	return &healthpb.HealthListResponse{Statuses: statuses}, nil
}

// Watch sends the status now and whenever it has changed, a start or a drain at once and a
// change of the checks within a second. The stream ends with the client; for an unknown
// service it says so and stays open, as the protocol asks for.
func (s *Server) Watch(
	req *healthpb.HealthCheckRequest,
	stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse],
) error {
	ctx := stream.Context()
	if !slices.Contains(s.services, req.GetService()) {
		unknown := healthpb.HealthCheckResponse_SERVICE_UNKNOWN
		if err := stream.Send(&healthpb.HealthCheckResponse{Status: unknown}); err != nil {
			return err
		}
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	return s.follow(ctx, stream)
}

func (s *Server) follow(
	ctx context.Context, stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse],
) error {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	sent := healthpb.HealthCheckResponse_UNKNOWN
	for {
		changed := s.health.Changed() // before asking, so that no change is missed
		answer, err := s.ask(ctx)
		if err != nil {
			return err
		}
		if answer != sent {
			if err := stream.Send(&healthpb.HealthCheckResponse{Status: answer}); err != nil {
				return err
			}
			sent = answer
		}
		select {
		case <-changed:
		case <-ticker.C:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// ask returns an error only when ctx ended before there was an answer.
func (s *Server) ask(
	ctx context.Context,
) (healthpb.HealthCheckResponse_ServingStatus, error) {
	if err := s.health.Ready(ctx); err == nil {
		return healthpb.HealthCheckResponse_SERVING, nil
	}
	if ctx.Err() != nil {
		return healthpb.HealthCheckResponse_UNKNOWN, status.FromContextError(ctx.Err()).Err()
	}
	return healthpb.HealthCheckResponse_NOT_SERVING, nil
}
