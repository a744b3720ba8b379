//go:build e2e

package e2e

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"doze/api/wire"
)

// field case 2: a download that takes longer than idle_after is not cut.
func TestLongLived_slowDownload_outlivesIdleAfter(t *testing.T) {
	t.Parallel()
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "drip", app: "web", idleAfter: time.Second})
		d := startDoze(t, c)
		d.waitState("drip", wire.Asleep)
		got := d.mustGet("drip.localhost", "/drip?n=8&every=500ms")
		if got.body != "........" {
			t.Errorf("got %q", got.body)
		}
		d.waitState("drip", wire.Asleep)
	})
}

// field case 1: a silent WebSocket keeps its group awake until both sides have closed.
func TestLongLived_silentWebSocket_outlivesIdleAfter(t *testing.T) {
	t.Parallel()
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "socket", app: "web", idleAfter: time.Second})
		d := startDoze(t, c)
		d.waitState("socket", wire.Asleep)
		dialer := websocket.Dialer{NetDialContext: d.transport().DialContext}
		conn, _, err := dialer.Dial("ws://socket.localhost/echo", nil)
		fail(t, err)
		defer conn.Close()
		time.Sleep(4 * time.Second) // the silence is what is tested
		fail(t, conn.WriteMessage(websocket.TextMessage, []byte("there?")))
		_, message, err := conn.ReadMessage()
		if err != nil || string(message) != "there?" {
			t.Fatalf("got %q, error %v", message, err)
		}
		if _, down := c.scalings(t, "socket", "web"); down != 0 {
			t.Errorf("the group was put to sleep %d times under the WebSocket", down)
		}
		fail(t, conn.Close())
		d.waitState("socket", wire.Asleep)
	})
}

// A gRPC stream wakes its group, outlives idle_after and gets its next message.
func TestLongLived_gRPCStream_outlivesIdleAfter(t *testing.T) {
	t.Parallel()
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "stream", app: "grpc", idleAfter: time.Second,
			policy: map[string]any{"probe": []map[string]any{{"grpc": []map[string]any{{}}}}}})
		d := startDoze(t, c)
		d.waitState("stream", wire.Asleep)
		conn, err := grpc.NewClient("passthrough:///stream.localhost",
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", d.gate)
			}))
		fail(t, err)
		defer conn.Close()
		stream, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(),
			&grpc_health_v1.HealthCheckRequest{})
		fail(t, err)
		for _, want := range []grpc_health_v1.HealthCheckResponse_ServingStatus{
			grpc_health_v1.HealthCheckResponse_SERVING,
			grpc_health_v1.HealthCheckResponse_NOT_SERVING, // some seconds later
		} {
			got, err := stream.Recv()
			if err != nil || got.Status != want {
				t.Fatalf("got %v, error %v, want %v", got, err, want)
			}
		}
		if _, down := c.scalings(t, "stream", "web"); down != 0 {
			t.Errorf("the group was put to sleep %d times under the stream", down)
		}
	})
}

// field case 3: a keep-awake lease keeps a group awake that nobody requests, also over a
// restart of doze.
func TestLease_nobodyRequests_staysAwakeUntilDropped(t *testing.T) {
	t.Parallel()
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "lease", app: "web", idleAfter: time.Second})
		d := startDoze(t, c)
		d.waitState("lease", wire.Asleep)
		lease := d.id("lease").LeasePath("night-shift")
		if status := d.command(http.MethodPut, lease+"?for=1h"); status >= 300 {
			t.Fatalf("taking a lease answers %d", status)
		}
		d.waitState("lease", wire.Ready)
		_ = d.end(9) // the error only says that it was killed
		d.start()
		time.Sleep(3 * time.Second) // nothing may happen meanwhile
		if group, _ := d.group("lease"); group.State != wire.Ready || len(group.Leases) != 1 {
			t.Fatalf("after the restart the group is %s with leases %v", group.State, group.Leases)
		}
		if status := d.command(http.MethodDelete, lease); status >= 300 {
			t.Fatalf("dropping the lease answers %d", status)
		}
		d.waitState("lease", wire.Asleep)
	})
}
