package plugins_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
)

// rpc makes a call with a message that has nothing in it.
func rpc(ctx context.Context, conn *grpc.ClientConn, method string, streams bool) error {
	if !streams {
		return conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{})
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err == nil {
		err = stream.SendMsg(&emptypb.Empty{})
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err == nil || errors.Is(err, io.EOF) { // what is received tells why
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	return err
}

// methods are all of the driver's service, and whether they stream.
func methods() map[string]bool {
	d := driverpb.Driver_ServiceDesc
	out := map[string]bool{}
	for _, m := range d.Methods {
		out["/"+d.ServiceName+"/"+m.MethodName] = false
	}
	for _, s := range d.Streams {
		out["/"+d.ServiceName+"/"+s.StreamName] = true
	}
	return out
}

func dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	c := goplugin.NewClient(nomads(t))
	t.Cleanup(c.Kill)
	conn, err := answers(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// A process that is only asked, or only checks, has to be without any effect.
func TestEveryCall_beforeTheConfiguration_isRefusedOrHarmless(t *testing.T) {
	conn := dial(t)
	harmless := []string{"TaskConfigSchema", "Capabilities", "Shutdown"}
	all := methods()
	if len(all) != 18 {
		t.Errorf("the service has %d methods", len(all))
	}
	for method, streams := range all {
		want := codes.FailedPrecondition
		if slices.ContainsFunc(harmless, func(m string) bool {
			return method == "/"+driverpb.Driver_ServiceDesc.ServiceName+"/"+m
		}) {
			want = codes.OK
		}
		if err := rpc(t.Context(), conn, method, streams); status.Code(err) != want {
			t.Errorf("%s returned %v", method, err)
		}
	}
}

func TestEveryCall_withNothingInIt_isAnsweredAsDocumented(t *testing.T) {
	conn := dial(t)
	set := &basepb.SetConfigRequest{NomadConfig: &basepb.NomadConfig{}}
	if _, err := basepb.NewBasePluginClient(conn).SetConfig(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for method, streams := range methods() {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := rpc(ctx, conn, method, streams)
		cancel()
		documented := []codes.Code{codes.OK, codes.Unknown, codes.NotFound, codes.InvalidArgument,
			codes.Unimplemented}
		if streams { // those may have nothing to tell
			documented = append(documented, codes.DeadlineExceeded)
		}
		if !slices.Contains(documented, status.Code(err)) {
			t.Errorf("%s returned %v", method, err)
		}
	}
	info := &basepb.PluginInfoRequest{}
	if _, err := basepb.NewBasePluginClient(conn).PluginInfo(t.Context(), info); err != nil {
		t.Errorf("afterwards the plugin returned %v", err)
	}
}
