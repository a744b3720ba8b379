package healthgate_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

// probe asks addr once within a second.
func probe(t testing.TB, cfg healthgate.ProbeConfig, addr string) error {
	t.Helper()
	p, err := cfg.New()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return p.Probe(ctx, addr)
}

func wantVerdict(t testing.TB, err error, want healthgate.Verdict, words string) {
	t.Helper()
	if got := healthgate.VerdictOf(err); got != want {
		t.Errorf("verdict %s (%v), want %s", got, err, want)
	}
	if words != "" && (err == nil || !strings.Contains(err.Error(), words)) {
		t.Errorf("error %v does not say %q", err, words)
	}
}

// say answers whatever is asked with raw bytes.
func say(raw string) func(net.Conn) {
	return func(conn net.Conn) {
		defer conn.Close()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, raw) // a probe that has seen enough leaves
		}
	}
}

func TestProbe_connection_verdicts(t *testing.T) {
	for _, kind := range []string{"tcp", "http", "grpc"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				cfg := healthgate.ProbeConfig{Kind: kind, Dial: n.dial}
				err := probe(t, cfg, "refuses:1")
				wantVerdict(t, err, healthgate.Dead, "connection refused")
				if !errors.Is(err, healthgate.ErrDial) {
					t.Errorf("%v is no ErrDial", err)
				}
				n.swallow("swallows:1")
				wantVerdict(t, probe(t, cfg, "swallows:1"), healthgate.Dead, "cannot connect")
				if kind == "tcp" {
					return
				}
				n.hang("hangs:1")
				wantVerdict(t, probe(t, cfg, "hangs:1"), healthgate.Busy, "in time")
				n.answer("closes:1")
				wantVerdict(t, probe(t, cfg, "closes:1"), healthgate.Busy, "no answer")
				n.accept("babbles:1", say("220 mail.example.com ESMTP\r\n"))
				wantVerdict(t, probe(t, cfg, "babbles:1"), healthgate.Busy, "")
			})
		})
	}
}

func TestProbe_cannotAsk_isUnknown(t *testing.T) {
	for name, err := range map[string]error{
		"no descriptor": &net.OpError{Op: "dial", Err: syscall.EMFILE},
		"no local port": &net.OpError{Op: "dial", Err: syscall.EADDRNOTAVAIL},
		"not permitted": &net.OpError{Op: "dial", Err: syscall.EPERM},
		"no such host":  &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}},
		"bad address":   &net.OpError{Op: "dial", Err: &net.AddrError{Err: "missing port"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := healthgate.ProbeConfig{
				Dial: func(context.Context, string, string) (net.Conn, error) { return nil, err },
			}
			wantVerdict(t, probe(t, cfg, "app:1"), healthgate.Unknown, "")
		})
	}
}

func TestVerdictOf_errorsOfOthers(t *testing.T) {
	for want, err := range map[healthgate.Verdict]error{
		healthgate.Up:      nil,
		healthgate.Busy:    fmt.Errorf("x: %w", context.DeadlineExceeded),
		healthgate.Dead:    fmt.Errorf("x: %w", syscall.ECONNREFUSED),
		healthgate.Unknown: errors.New("what?"),
		healthgate.Hung:    fmt.Errorf("x: %w", &healthgate.ProbeError{Verdict: healthgate.Hung, Err: io.EOF}),
	} {
		wantVerdict(t, err, want, "")
	}
}

func TestHTTPProbe_answer_decides(t *testing.T) {
	type cfg = healthgate.ProbeConfig
	for name, c := range map[string]struct {
		cfg    healthgate.ProbeConfig
		answer string
		want   healthgate.Verdict
		words  string
	}{
		"ok":                   {cfg{}, "HTTP/1.1 200 OK\r\n\r\n", healthgate.Up, ""},
		"HTTP/1.0":             {cfg{}, "HTTP/1.0 200 OK\r\n\r\nhello", healthgate.Up, ""},
		"redirect":             {cfg{}, "HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n", healthgate.Up, ""},
		"redirect refused":     {cfg{Statuses: "200-299"}, "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", healthgate.Busy, "answered 302"},
		"unavailable":          {cfg{}, "HTTP/1.1 503 Service Unavailable\r\n\r\n", healthgate.Busy, "answered 503, not one of 200-399"},
		"unauthorized is fine": {cfg{Statuses: "200,401"}, "HTTP/1.1 401 Unauthorized\r\n\r\n", healthgate.Up, ""},
		"interim first":        {cfg{}, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", healthgate.Up, ""},
		"interim for ever":     {cfg{}, strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 99), healthgate.Busy, "interim"},
		"endless headers":      {cfg{}, "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 300_000), healthgate.Busy, ""},
		"head":                 {cfg{Method: "HEAD"}, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", healthgate.Up, ""},
		"body":                 {cfg{Body: `^ready \d$`}, "HTTP/1.1 200 OK\r\n\r\nready 1", healthgate.Up, ""},
		"body differs":         {cfg{Body: "ready"}, "HTTP/1.1 200 OK\r\n\r\nstarting", healthgate.Busy, "does not match"},
		"body cut short":       {cfg{Body: "ready"}, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nready", healthgate.Busy, "no answer"},
		"body chunked":         {cfg{Body: "ready"}, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nready\r\n0\r\n\r\n", healthgate.Up, ""},
		"match at 64 KiB":      {cfg{Body: "x"}, "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("-", 65535) + "x", healthgate.Up, ""},
		"match past 64 KiB":    {cfg{Body: "x"}, "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("-", 65536) + "x", healthgate.Busy, "does not match"},
		"HTTP/2 preface":       {cfg{}, "\x00\x00\x00\x04\x00\x00\x00\x00\x00", healthgate.Busy, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.accept("app:1", say(c.answer))
				c.cfg.Kind, c.cfg.Dial = "http", n.dial
				wantVerdict(t, probe(t, c.cfg, "app:1"), c.want, c.words)
			})
		})
	}
}

// A stream that never ends is an answer all the same: only its status is read.
func TestHTTPProbe_endlessBody_isNotReadToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serve(t, "app:1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		start := time.Now()
		err := probe(t, healthgate.ProbeConfig{Kind: "http", Dial: n.dial}, "app:1")
		wantVerdict(t, err, healthgate.Up, "")
		if took := time.Since(start); took != 0 {
			t.Errorf("took %s", took)
		}
	})
}

func TestHTTPProbe_request_isAsConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		var got *http.Request
		n.serve(t, "app:1", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
		cfg := healthgate.ProbeConfig{Kind: "http", Dial: n.dial}
		wantVerdict(t, probe(t, cfg, "app:1"), healthgate.Up, "")
		if got.Method != "GET" || got.RequestURI != "/" || got.Host != "app:1" || !got.Close {
			t.Errorf("by default: %s %s %s, close %t", got.Method, got.RequestURI, got.Host, got.Close)
		}
		if ua := got.UserAgent(); ua != "doze-probe" {
			t.Errorf("user agent %q", ua)
		}
		cfg.Path, cfg.Method, cfg.Host = "/healthz?full=1", "POST", "web.example.com"
		cfg.Header = http.Header{"X-Probe": {"a", "b"}, "User-Agent": {"mine"}}
		wantVerdict(t, probe(t, cfg, "app:1"), healthgate.Up, "")
		if got.Method != "POST" || got.RequestURI != "/healthz?full=1" || got.Host != "web.example.com" {
			t.Errorf("%s %s %s", got.Method, got.RequestURI, got.Host)
		}
		if v := got.Header["X-Probe"]; len(v) != 2 || got.UserAgent() != "mine" {
			t.Errorf("header %v", got.Header)
		}
	})
}

// Every probe has a connection of its own and closes it: none pile up.
func TestHTTPProbe_again_leavesNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		open := 0
		states := make(chan int, 1000)
		n.accept("app:1", func(conn net.Conn) {
			states <- 1
			say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")(conn)
			states <- -1
		})
		for range 20 {
			wantVerdict(t, probe(t, healthgate.ProbeConfig{Kind: "http", Dial: n.dial}, "app:1"), healthgate.Up, "")
		}
		synctest.Wait()
		close(states)
		for d := range states {
			open += d
		}
		if open != 0 || n.dialled("app:1") != 20 {
			t.Errorf("%d connections open of %d", open, n.dialled("app:1"))
		}
	})
}

// Real TLS on real sockets: the certificate is not verified, the name is sent.
func TestHTTPProbe_tls_asksInside(t *testing.T) {
	var name string
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		name = r.TLS.ServerName
	}))
	defer server.Close()
	addr := server.Listener.Addr().String()
	wantVerdict(t, probe(t, healthgate.ProbeConfig{Kind: "http", TLS: true}, addr), healthgate.Up, "")
	cfg := healthgate.ProbeConfig{Kind: "http", TLS: true, Host: "web.example.com:443"}
	wantVerdict(t, probe(t, cfg, addr), healthgate.Up, "")
	if name != "web.example.com" {
		t.Errorf("server name %q", name)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	wantVerdict(t, probe(t, cfg, plain.Listener.Addr().String()), healthgate.Busy, "no answer")
}

func TestTCPProbe_realListener_isUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, probe(t, healthgate.ProbeConfig{}, l.Addr().String()), healthgate.Up, "")
	l.Close()
	wantVerdict(t, probe(t, healthgate.ProbeConfig{}, l.Addr().String()), healthgate.Dead, "refused")
}

func TestExecProbe_exitStatus_decides(t *testing.T) {
	sh := func(script string) healthgate.ProbeConfig {
		return healthgate.ProbeConfig{Kind: "exec", Command: []string{"/bin/sh", "-c", script}}
	}
	addr := "app:1"
	wantVerdict(t, probe(t, sh(`test "$DOZE_PROBE_ADDR" = app:1`), addr), healthgate.Up, "")
	wantVerdict(t, probe(t, sh("echo not yet; echo more; exit 3"), addr), healthgate.Busy, "exit status 3: not yet")
	wantVerdict(t, probe(t, sh("kill -9 $$"), addr), healthgate.Unknown, "killed")
	missing := healthgate.ProbeConfig{Kind: "exec", Command: []string{"/no/such/probe"}}
	wantVerdict(t, probe(t, missing, addr), healthgate.Unknown, "cannot start")
	wantVerdict(t, probe(t, sh("yes | head -c 1000000; exit 1"), addr), healthgate.Busy, ": y")
}

// The command and what it has started are killed together.
func TestExecProbe_calledOff_killsItsProcessGroup(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// The grandchild holds the fifo's write end; it closes when all are dead.
	script := "(echo started; exec sleep 1000) >" + fifo + " & wait"
	p, err := healthgate.ProbeConfig{Kind: "exec", Command: []string{"/bin/sh", "-c", script}}.New()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := outcome(func() error { return p.Probe(ctx, "") })
	alive, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	r := bufio.NewReader(alive)
	if line, err := r.ReadString('\n'); line != "started\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	cancel()
	wantVerdict(t, <-done, healthgate.Unknown, "called off")
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("read on: %v, want the end", err)
	}
}

// sent returns the one request that a probe of cfg sends.
func sent(t *testing.T, cfg healthgate.ProbeConfig) *http.Request {
	t.Helper()
	here, there := net.Pipe()
	got := make(chan *http.Request, 1)
	go func() {
		defer there.Close()
		r := bufio.NewReader(there)
		req, err := http.ReadRequest(r)
		if err != nil {
			t.Errorf("cannot read the request: %v", err)
		}
		_, _ = io.WriteString(there, "HTTP/1.1 200 OK\r\n\r\n") // judged by the request alone
		if rest, _ := io.ReadAll(r); len(rest) > 0 {
			t.Errorf("%q follows the request", rest)
		}
		got <- req
	}()
	cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return here, nil }
	if err := probe(t, cfg, "app:1"); err != nil {
		t.Errorf("probe: %v", err)
	}
	req := <-got
	if req == nil {
		t.FailNow()
	}
	return req
}
