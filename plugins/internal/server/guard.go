package server

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/proto/driverpb"
)

// Guard refuses calls about tasks until the driver has been configured: Nomad makes
// none, and a process that is only there to check a configuration serves nobody.
func (b *Base) Guard() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any,
			info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			if err := b.permit(info.FullMethod); err != nil {
				return nil, err
			}
			return handler(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream,
			info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			if err := b.permit(info.FullMethod); err != nil {
				return err
			}
			return handler(srv, stream)
		}),
	}
}

func (b *Base) permit(method string) error {
	service := "/" + driverpb.Driver_ServiceDesc.ServiceName + "/"
	about, isDriver := strings.CutPrefix(method, service)
	anytime := []string{"TaskConfigSchema", "Capabilities", "Shutdown"}
	if !isDriver || b.configured.Load() || slices.Contains(anytime, about) {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition,
		"cannot answer %s: the plugin has not been configured yet", about)
}
