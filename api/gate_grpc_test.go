package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"doze/idle"
)

// echoStream is a bidirectional method without generated code.
var echoStream = grpc.StreamDesc{StreamName: "Echo", ServerStreams: true, ClientStreams: true}

// grpcApp is an app that speaks gRPC over HTTP/2 in clear text.
type grpcApp struct{ streams atomic.Int32 }

// server is made anew for each stream, because a grpc.Server belongs to one bubble.
func (a *grpcApp) server() *grpc.Server {
	server, desc := grpc.NewServer(), echoStream
	desc.Handler = a.echo
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Echo",
		HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{desc}}, a)
	return server
}

func (a *grpcApp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/test.Echo/Fail" {
		a.streams.Add(1)
		panic(http.ErrAbortHandler)
	}
	a.server().ServeHTTP(w, r)
}

func (a *grpcApp) echo(_ any, s grpc.ServerStream) error {
	a.streams.Add(1)
	for {
		var m wrapperspb.StringValue
		if err := s.RecvMsg(&m); err == io.EOF {
			return status.Error(codes.DataLoss, "that was all")
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(&m); err != nil {
			return err
		}
	}
}

func (w *world) dialGRPC() *grpc.ClientConn {
	w.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+appHost,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return w.dialGate(ctx, "tcp", "")
		}))
	w.must(err)
	return conn
}

// field case 1, field case 2: a gRPC stream wakes its group and outlives idle_after;
// half-close, trailers and status come through.
func TestGRPC_silentStream_outlivesIdleAfter(t *testing.T) {
	a := &grpcApp{}
	s := setup{app: &app{handler: a, h2c: true, bootTime: 2 * time.Second}}
	inWorld(t, s, func(w *world) {
		conn := w.dialGRPC()
		defer conn.Close()
		stream, err := conn.NewStream(w.t.Context(), &echoStream, "/test.Echo/Echo")
		w.must(err)
		for range 3 {
			w.must(stream.SendMsg(wrapperspb.String("hello")))
			var got wrapperspb.StringValue
			w.must(stream.RecvMsg(&got))
			if got.Value != "hello" {
				t.Errorf("echo is %q", got.Value)
			}
			time.Sleep(5 * idleAfter)
			w.wantState(idle.Ready)
		}
		w.must(stream.CloseSend())
		var none wrapperspb.StringValue
		if err := stream.RecvMsg(&none); status.Code(err) != codes.DataLoss {
			t.Errorf("status is %v", err)
		}
		time.Sleep(idleAfter + 2*time.Second)
		w.wantState(idle.Asleep)
		if n := a.streams.Swap(0); n != 1 {
			t.Errorf("%d streams arrived", n)
		}
	})
}

// field case 29: a stream is sent once, whatever becomes of it.
func TestGRPC_targetDies_streamIsNotReplayed(t *testing.T) {
	a := &grpcApp{}
	inWorld(t, setup{app: &app{handler: a, h2c: true}}, func(w *world) {
		conn := w.dialGRPC()
		defer conn.Close()
		in, out := wrapperspb.String("x"), &wrapperspb.StringValue{}
		if err := conn.Invoke(w.t.Context(), "/test.Echo/Fail", in, out); status.Code(err) == codes.OK {
			t.Error("no error")
		}
		if n := a.streams.Swap(0); n != 1 {
			t.Errorf("the stream arrived %d times", n)
		}
	})
}

// A client that speaks HTTP/2 gets any application, through HTTP/1.1 to the target.
func TestGRPC_plainHTTP2Client_reachesHTTP1App(t *testing.T) {
	inWorld(t, setup{app: &app{handler: echoApp, bootTime: time.Second}}, func(w *world) {
		h2c := &http.Protocols{}
		h2c.SetUnencryptedHTTP2(true)
		transport := &http.Transport{DialContext: w.dialGate, Protocols: h2c}
		defer transport.CloseIdleConnections()
		w.client.Transport = transport
		for _, r := range []*http.Request{
			w.request("GET", "/a", nil), w.request("POST", "/b", strings.NewReader("body")),
			w.request("GET", "/c", nil),
		} {
			a := w.do(r)
			w.wantStatus(a, 200)
			if a.ProtoMajor != 2 || !strings.HasPrefix(a.body, r.Method+" "+r.URL.Path) {
				t.Errorf("HTTP/%d: %q", a.ProtoMajor, a.body)
			}
		}
	})
}

func TestGRPC_failedWake_isUnavailable(t *testing.T) {
	inWorld(t, setup{app: &app{fail: context.DeadlineExceeded}}, func(w *world) {
		conn := w.dialGRPC()
		defer conn.Close()
		in, out := wrapperspb.String("x"), &wrapperspb.StringValue{}
		if err := conn.Invoke(w.t.Context(), "/test.Echo/Echo", in, out); status.Code(err) != codes.Unavailable {
			t.Errorf("error is %v", err)
		}
	})
}
