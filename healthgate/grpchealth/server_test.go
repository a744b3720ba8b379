package grpchealth_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"doze/healthgate"
	"doze/healthgate/grpchealth"
)

const (
	serving    = healthpb.HealthCheckResponse_SERVING
	notServing = healthpb.HealthCheckResponse_NOT_SERVING
	unknown    = healthpb.HealthCheckResponse_SERVICE_UNKNOWN
)

func newHealth(t *testing.T, check func(context.Context) error) *healthgate.Health {
	t.Helper()
	h, err := healthgate.NewHealth(healthgate.HealthConfig{
		Enabled: true, Checks: []healthgate.Check{{Name: "db", Check: check}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// serve returns a client of a gRPC server in memory.
func serve(t *testing.T, h *healthgate.Health, services ...string) healthpb.HealthClient {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	grpchealth.Register(server, h, services...)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///bufconn",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return healthpb.NewHealthClient(conn)
}

func TestServer_checkAndList_followReadiness(t *testing.T) {
	h := newHealth(t, func(context.Context) error { return nil })
	client := serve(t, h, "shop.Cart")
	for _, step := range []struct {
		do   func()
		want healthpb.HealthCheckResponse_ServingStatus
	}{{func() {}, notServing}, {h.Start, serving}, {h.Drain, notServing}} {
		step.do()
		for _, service := range []string{"", "shop.Cart"} {
			got, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
			if err != nil || got.Status != step.want {
				t.Errorf("Check %q: %v, %v; want %v", service, got, err, step.want)
			}
		}
		list, err := client.List(t.Context(), &healthpb.HealthListRequest{})
		if err != nil || len(list.Statuses) != 2 || list.Statuses["shop.Cart"].Status != step.want {
			t.Errorf("List: %v, %v", list, err)
		}
	}
	_, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "shop.Other"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("unknown service: %v", err)
	}
}

func TestServer_disabledHealth_servesNothing(t *testing.T) {
	h, err := healthgate.NewHealth(healthgate.HealthConfig{})
	if err != nil {
		t.Fatal(err)
	}
	client := serve(t, h)
	_, err = client.Check(t.Context(), &healthpb.HealthCheckRequest{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("Check: %v, want Unimplemented", err)
	}
}

func TestServer_checkOutlivesCaller_answersItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		h.Start()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := grpchealth.New(h).Check(ctx, &healthpb.HealthCheckRequest{})
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("Check: %v", err)
		}
		h.Drain()
	})
}

// watcher is the server's side of a Watch stream.
type watcher struct {
	grpc.ServerStreamingServer[healthpb.HealthCheckResponse]
	ctx   context.Context
	began time.Time
	sent  []sent
	fails error
}

type sent struct {
	after  time.Duration
	status healthpb.HealthCheckResponse_ServingStatus
}

func (w *watcher) Context() context.Context { return w.ctx }

func (w *watcher) Send(r *healthpb.HealthCheckResponse) error {
	w.sent = append(w.sent, sent{time.Since(w.began), r.Status})
	return w.fails
}

func TestServer_watch_sendsChangesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		h := newHealth(t, func(context.Context) error {
			if down.Load() {
				return errors.New("gone")
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		w := &watcher{ctx: ctx, began: time.Now()}
		ended := make(chan error, 1)
		go func() { ended <- grpchealth.New(h).Watch(&healthpb.HealthCheckRequest{}, w) }()

		time.Sleep(2500 * time.Millisecond)
		h.Start()
		time.Sleep(10 * time.Second)
		down.Store(true)
		time.Sleep(10 * time.Second)
		down.Store(false)
		time.Sleep(10 * time.Second)
		h.Drain()
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-ended; status.Code(err) != codes.Canceled {
			t.Errorf("Watch: %v", err)
		}
		want := []sent{
			{0, notServing}, {2500 * time.Millisecond, serving}, {13 * time.Second, notServing},
			{23 * time.Second, serving}, {32500 * time.Millisecond, notServing},
		}
		if !slices.Equal(w.sent, want) {
			t.Errorf("sent %v, want %v", w.sent, want)
		}
	})
}

func TestServer_watchUnknownService_saysSoAndStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, func(context.Context) error { return nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w := &watcher{ctx: ctx, began: time.Now()}
		err := grpchealth.New(h).Watch(&healthpb.HealthCheckRequest{Service: "x"}, w)
		if status.Code(err) != codes.DeadlineExceeded || time.Since(w.began) != time.Minute {
			t.Errorf("Watch: %v after %v", err, time.Since(w.began))
		}
		if !slices.Equal(w.sent, []sent{{0, unknown}}) {
			t.Errorf("sent %v", w.sent)
		}
	})
}

func TestServer_watchBrokenStream_ends(t *testing.T) {
	h := newHealth(t, func(context.Context) error { return nil })
	h.Start()
	broken := errors.New("broken")
	for _, service := range []string{"", "x"} {
		w := &watcher{ctx: t.Context(), fails: broken}
		err := grpchealth.New(h).Watch(&healthpb.HealthCheckRequest{Service: service}, w)
		if !errors.Is(err, broken) {
			t.Errorf("Watch %q: %v", service, err)
		}
	}
}
