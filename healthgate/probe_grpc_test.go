package healthgate_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"doze/healthgate"
)

// frame is a gRPC message frame, uncompressed.
func frame(message string) string {
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	return string(head) + message
}

// grpcAnswer serves one answer to whatever is asked.
func grpcAnswer(body, status, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		_, _ = io.WriteString(w, body) // a probe that has seen enough leaves
		w.Header().Set("Grpc-Status", status)
		w.Header().Set("Grpc-Message", message)
	}
}

func trailersOnly(status string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", status)
	}
}

func TestGRPCProbe_answer_decides(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   healthgate.Verdict
		words  string
	}{
		"serving":             {grpcAnswer(frame("\x08\x01"), "0", ""), healthgate.Up, ""},
		"serving, more known": {grpcAnswer(frame("\x12\x01x\x08\x01\x1d1234"), "0", ""), healthgate.Up, ""},
		"not serving":         {grpcAnswer(frame("\x08\x02"), "0", ""), healthgate.Busy, `service "db" is NOT_SERVING`},
		"unknown":             {grpcAnswer(frame(""), "0", ""), healthgate.Busy, "UNKNOWN"},
		"service unknown":     {grpcAnswer(frame("\x08\x03"), "0", ""), healthgate.Busy, "SERVICE_UNKNOWN"},
		"state of tomorrow":   {grpcAnswer(frame("\x08\x63"), "0", ""), healthgate.Busy, "in state 99"},
		"not found":           {grpcAnswer("", "5", "unknown service"), healthgate.Busy, `status "5" unknown service`},
		"unimplemented":       {trailersOnly("12"), healthgate.Busy, `status "12"`},
		"serving, then error": {grpcAnswer(frame("\x08\x01"), "13", ""), healthgate.Busy, `status "13"`},
		"no status":           {grpcAnswer(frame("\x08\x01"), "", ""), healthgate.Busy, `status ""`},
		"no frame":            {trailersOnly("0"), healthgate.Busy, "truncated"},
		"no gRPC":             {http.NotFound, healthgate.Busy, "HTTP status 404, not gRPC"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.serve(t, "app:1", c.answer)
				cfg := healthgate.ProbeConfig{Kind: "grpc", Service: "db", Dial: n.dial}
				wantVerdict(t, probe(t, cfg, "app:1"), c.want, c.words)
			})
		})
	}
}

func TestGRPCProbe_request_isAHealthCheckOverHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		var got *http.Request
		var body []byte
		n.serve(t, "app:1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r
			body, _ = io.ReadAll(r.Body) // compared below
			grpcAnswer(frame("\x08\x01"), "0", "")(w, r)
		}))
		service := strings.Repeat("s", 200)
		cfg := healthgate.ProbeConfig{Kind: "grpc", Service: service, Dial: n.dial}
		wantVerdict(t, probe(t, cfg, "app:1"), healthgate.Up, "")
		if got.ProtoMajor != 2 || got.Method != "POST" || got.URL.Path != "/grpc.health.v1.Health/Check" {
			t.Errorf("%s %s %s", got.Proto, got.Method, got.URL)
		}
		if got.Header.Get("Content-Type") != "application/grpc" || got.Header.Get("Te") != "trailers" {
			t.Errorf("header %v", got.Header)
		}
		if want := frame("\x0a\xc8\x01" + service); !bytes.Equal(body, []byte(want)) {
			t.Errorf("body %q", body)
		}
	})
}

func TestGRPCProbe_tls_asksInside(t *testing.T) {
	server := httptest.NewUnstartedServer(grpcAnswer(frame("\x08\x01"), "0", ""))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	addr := server.Listener.Addr().String()
	cfg := healthgate.ProbeConfig{Kind: "grpc", TLS: true}
	wantVerdict(t, probe(t, cfg, addr), healthgate.Up, "")
	cfg.TLS = false
	wantVerdict(t, probe(t, cfg, addr), healthgate.Busy, "")
}
