package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/api"
)

// onFront is inWorld with the Front alone.
func onFront(t *testing.T, s setup, f func(w *world)) {
	t.Helper()
	inWorldServed(t, s, func(g *api.Gate) server { return g.Front() }, f)
}

// echoApp answers with the method, the path and the body.
var echoApp = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
})

// say sends requests over one connection and wants answers with these bodies.
func (w *world) say(requests string, bodies ...string) {
	w.t.Helper()
	conn, err := w.dialGate(w.t.Context(), "tcp", "")
	w.must(err)
	defer conn.Close()
	go io.WriteString(conn, strings.ReplaceAll(requests, "HOST", "HTTP/1.1\r\nHost: "+appHost+"\r\n"))
	in := bufio.NewReader(conn)
	for i, want := range bodies {
		res, err := http.ReadResponse(in, nil)
		w.must(err)
		body, err := io.ReadAll(res.Body)
		w.must(err)
		if string(body) != want {
			w.t.Errorf("answer %d is %q, want %q", i, body, want)
		}
	}
}

func TestFront_pipelinedRequests_areAnsweredInOrder(t *testing.T) {
	onFront(t, setup{app: &app{handler: echoApp}, awake: true}, func(w *world) {
		w.say("GET /a HOST\r\nGET /b HOST\r\nDELETE /c HOST\r\n", "GET /a ", "GET /b ", "DELETE /c ")
	})
}

// A connection that is handed to the server loses nothing.
func TestFront_mixedRequestsOnOneConnection_areAnsweredInOrder(t *testing.T) {
	onFront(t, setup{app: &app{handler: echoApp}, awake: true}, func(w *world) {
		w.say("GET /a HOST\r\nPOST /b HOSTContent-Length: 4\r\n\r\nbodyGET /%63 HOST\r\nGET /d HOST\r\n",
			"GET /a ", "POST /b body", "GET /c ", "GET /d ")
		w.say("POST /b HOSTTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\nGET /d HOST\r\n",
			"POST /b body", "GET /d ")
	})
}

func TestFront_smallBodies_areSentOnce(t *testing.T) {
	onFront(t, setup{app: &app{handler: echoApp}, awake: true}, func(w *world) {
		w.say("POST /a HOSTContent-Length: 4\r\n\r\nbodyPUT /b HOST\r\nPATCH /c HOSTContent-Length: 0\r\n\r\n"+
			"POST /d HOSTContent-Length: 5000\r\n\r\n"+strings.Repeat("x", 5000),
			"POST /a body", "PUT /b ", "PATCH /c ", "POST /d "+strings.Repeat("x", 5000))
		w.app.stop() // a refused connection leaves the body as it was
		time.Sleep(time.Second)
		w.say("POST /e HOSTContent-Length: 4\r\n\r\nbody", "POST /e body")
	})
}

func TestFront_headInPieces_isPutTogether(t *testing.T) {
	onFront(t, setup{app: &app{handler: echoApp}, awake: true}, func(w *world) {
		conn, err := w.dialGate(w.t.Context(), "tcp", "")
		w.must(err)
		defer conn.Close()
		for _, part := range []string{"GE", "T /a HTTP/1.1\r\nHo", "st: " + appHost + "\r", "\n\r\n"} {
			io.WriteString(conn, part)
			time.Sleep(time.Second)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		w.must(err)
		if res.StatusCode != 200 {
			t.Errorf("status %d", res.StatusCode)
		}
	})
}

// Slowloris: neither silence nor a head that never ends holds a connection for ever.
func TestFront_silentClients_areClosed(t *testing.T) {
	for name, c := range map[string]struct {
		sent  string
		limit time.Duration
	}{
		"nothing":         {"", 10 * time.Second},
		"half a head":     {"GET / HTTP/1.1\r\nHost:", 10 * time.Second},
		"after an answer": {"GET / HTTP/1.1\r\nHost: " + appHost + "\r\n\r\n", 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, setup{awake: true}, func(w *world) {
				conn, err := w.dialGate(w.t.Context(), "tcp", "")
				w.must(err)
				defer conn.Close()
				start := time.Now()
				io.WriteString(conn, c.sent)
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took < c.limit || took > c.limit+time.Second {
					t.Errorf("closed after %v, want %v", took, c.limit)
				}
			})
		})
	}
}

// Shutdown lets what is in flight finish and closes the rest.
func TestFront_Shutdown_waitsForRequestsInFlight(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Second)
		io.WriteString(w, "done")
	})
	inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
		silent, err := w.dialGate(w.t.Context(), "tcp", "")
		w.must(err)
		defer silent.Close()
		var all sync.WaitGroup
		for _, method := range []string{"GET", "POST"} {
			all.Go(func() {
				if a := w.do(w.request(method, "/", nil)); a.body != "done" {
					t.Errorf("%s: %d %q", method, a.StatusCode, a.body)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		w.must(w.server.Shutdown(w.t.Context()))
		if took := time.Since(start); took < 5*time.Second || took > 7*time.Second {
			t.Errorf("it took %v, want 5s", took)
		}
		all.Wait()
		if _, err := w.dialGate(w.t.Context(), "tcp", ""); err == nil {
			t.Error("it still accepts connections")
		}
	})
}

func TestFront_Shutdown_endsWithItsContext(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Minute) })
	onFront(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := w.client.Do(w.request("GET", "/", nil)); err == nil {
				t.Error("the request was not cut")
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		if err := w.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		w.must(w.server.Close())
		all.Wait()
		synctest.Wait()
		if n := w.group.Status().InFlight; n != 0 {
			t.Errorf("in flight: %d", n)
		}
	})
}

func TestFront_Serve_afterClose(t *testing.T) {
	gate, err := api.NewGate(api.GateConfig{Routes: api.NewRoutes()})
	if err != nil {
		t.Fatal(err)
	}
	front := gate.Front()
	if err := front.Close(); err != nil {
		t.Fatal(err)
	}
	l := newPipes().listen(gateAddr, 1)
	if err := front.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("error is %v", err)
	}
}

// A client that leaves while the target works on its request is noticed, and the target
// told: this needs real connections.
func TestFront_clientLeavesDuringExchange_targetIsTold(t *testing.T) {
	began, told := make(chan struct{}, 10), make(chan struct{}, 10)
	target := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			began <- struct{}{}
			<-r.Context().Done()
			told <- struct{}{}
		}
	})}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	targetAddr := serveTCP(t, &running, target)
	defer target.Close()
	var logged logBuffer
	front := loggedGate(t, ctx, targetAddr, slog.New(slog.NewTextHandler(&logged, nil))).Front()
	addr := serveTCP(t, &running, front)
	defer front.Close()
	for range 2 { // the first answer is the server's
		res, err := http.Get("http://" + addr + "/wakes")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	// Over a kept connection a request may be sent again, but not for this reason; nor is
	// it the target's fault, which would be taken out after three.
	for range 4 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /slow HTTP/1.1\r\nHost: %s\r\n\r\n", appHost)
		<-began
		conn.Close()
		<-told
	}
	res, err := http.Get("http://" + addr + "/after")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if len(began) != 0 {
		t.Errorf("%d requests were sent again", len(began))
	}
	if s := logged.String(); s != "" {
		t.Errorf("the target was blamed: %s", s)
	}
}

// logBuffer is a log that may be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.String()
}

// serveTCP serves on a port of its own.
func serveTCP(t testing.TB, running *sync.WaitGroup, s server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}
