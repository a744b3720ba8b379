//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// serveGRPC serves grpc.health.v1, whose Watch is a stream that stays open.
func serveGRPC(listener net.Listener, _ time.Time) {
	server := grpc.NewServer()
	service := health.NewServer()
	service.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, service)
	time.AfterFunc(6*time.Second, func() {
		service.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	})
	fmt.Fprintln(os.Stderr, server.Serve(listener))
}
