package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"doze/api"
	"doze/healthgate"
	"doze/idle"
)

// echoSocket echoes WebSocket messages.
func echoSocket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		kind, p, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if conn.WriteMessage(kind, p) != nil {
			return
		}
	}
}

func (w *world) dialSocket() *websocket.Conn {
	w.t.Helper()
	dialer := websocket.Dialer{NetDialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return w.dialGate(ctx, network, "")
	}}
	conn, _, err := dialer.DialContext(w.t.Context(), "ws://"+appHost+"/socket", nil)
	w.must(err)
	return conn
}

func (w *world) echo(conn *websocket.Conn, text string) {
	w.t.Helper()
	w.must(conn.WriteMessage(websocket.TextMessage, []byte(text)))
	_, got, err := conn.ReadMessage()
	w.must(err)
	if string(got) != text {
		w.t.Fatalf("echo is %q, want %q", got, text)
	}
}

// field case 1: an open WebSocket keeps its application, silent or not; the idle clock
// starts when both sides have closed.
func TestUpgrade_silentWebSocket_outlivesIdleAfter(t *testing.T) {
	s := setup{app: &app{handler: http.HandlerFunc(echoSocket), bootTime: time.Second}}
	inWorld(t, s, func(w *world) {
		conn := w.dialSocket()
		w.echo(conn, "one")
		time.Sleep(20 * idleAfter)
		w.echo(conn, "two")
		w.wantState(idle.Ready)
		conn.Close()
		synctest.Wait()
		if n := w.group.Status().InFlight; n != 0 {
			t.Errorf("in flight after both sides have closed: %d", n)
		}
		time.Sleep(idleAfter - time.Second)
		w.wantState(idle.Ready)
		time.Sleep(2 * time.Second)
		w.wantState(idle.Asleep)
	})
}

// The end of one direction is handed on; the other goes on.
func TestUpgrade_halfClose_isHandedOn(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: all\r\n\r\n")
		got, err := io.ReadAll(in) // until the client's end
		time.Sleep(2 * idleAfter)
		fmt.Fprintf(conn, "got %q, %v", got, err)
	})
	inWorld(t, setup{app: &app{handler: handler}}, func(w *world) {
		conn, err := w.dialGate(w.t.Context(), "tcp", "")
		w.must(err)
		defer conn.Close()
		// What is sent before the switch is answered must not be lost.
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: upgrade\r\nUpgrade: all\r\n\r\nearly ", appHost)
		in := bufio.NewReader(conn)
		res, err := http.ReadResponse(in, nil)
		w.must(err)
		if res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Upgrade") != "all" {
			t.Fatalf("answer: %v %v", res.Status, res.Header)
		}
		io.WriteString(conn, "late")
		w.must(conn.(*pipeConn).CloseWrite())
		got, err := io.ReadAll(in)
		w.must(err)
		if string(got) != `got "early late", <nil>` {
			t.Errorf("answer is %q", got)
		}
	})
}

func TestUpgrade_targetDeclines_answerIsPassedOn(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		r := w.request("GET", "/", nil)
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "websocket")
		a := w.do(r)
		w.wantStatus(a, 200)
		if a.body != "hello" {
			t.Errorf("body is %q", a.body)
		}
	})
}

func TestUpgrade_switchNobodyAskedFor_is502(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			conn.Close()
		}
	})
	inWorld(t, setup{app: &app{handler: handler}}, func(w *world) {
		w.wantStatus(w.get("/"), http.StatusBadGateway)
		r := w.request("GET", "/", nil)
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "y")
		w.wantStatus(w.do(r), http.StatusBadGateway)
	})
}

// A drain tells upgraded connections, and is over when they are gone.
func TestUpgrade_drain_tellsTheTarget(t *testing.T) {
	upgraded := &healthgate.Upgraded{}
	s := setup{gate: api.GateConfig{Upgraded: upgraded}, app: &app{handler: http.HandlerFunc(echoSocket)}}
	inWorld(t, s, func(w *world) {
		conn := w.dialSocket()
		defer conn.Close()
		w.echo(conn, "one")
		if n := upgraded.Len(); n != 1 {
			t.Fatalf("%d tracked", n)
		}
		drain, err := healthgate.NewDrain(healthgate.DrainConfig{Upgraded: upgraded,
			Timeout: time.Minute})
		w.must(err)
		read := make(chan error, 1)
		go func() {
			_, _, err := conn.ReadMessage()
			conn.Close()
			read <- err
		}()
		start := time.Now()
		w.must(drain.Run(w.t.Context()))
		if took := time.Since(start); took > time.Second {
			t.Errorf("the drain took %v", took)
		}
		if err := <-read; err == nil || !strings.Contains(err.Error(), "EOF") {
			t.Errorf("the client reads %v", err)
		}
	})
}
