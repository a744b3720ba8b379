package demoapp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"doze/internal/demoapp"
)

// ask sends one request to an application that was started so long ago.
func ask(t *testing.T, name string, age time.Duration, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	handler, err := demoapp.Handler(name, time.Now().Add(-age))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func get(path string) *http.Request { return httptest.NewRequest(http.MethodGet, path, nil) }

func TestHandler_hello_answersAtOnce(t *testing.T) {
	w := ask(t, "hello", 0, get("/some/path"))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "/some/path") {
		t.Errorf("answered %d: %s", w.Code, w.Body)
	}
}

func TestHandler_hello_tellsWhenItWasStarted(t *testing.T) {
	w := ask(t, "hello", time.Hour, get("/"))
	text := w.Header().Get(demoapp.StartedHeader)
	started, err := time.Parse(time.RFC3339Nano, text)
	if age := time.Since(started); err != nil || age < time.Hour || age > time.Hour+time.Minute {
		t.Errorf("it was started at %q, an hour ago", text)
	}
}

func TestHandler_slow_refusesForTwoSeconds(t *testing.T) {
	if w := ask(t, "slow", time.Second, get("/")); w.Code != http.StatusServiceUnavailable {
		t.Errorf("after one second it answers %d", w.Code)
	}
	if w := ask(t, "slow", 3*time.Second, get("/healthz")); w.Code != http.StatusOK {
		t.Errorf("after three seconds it answers %d", w.Code)
	}
}

func TestHandler_echo_returnsTheBody(t *testing.T) {
	server := httptest.NewServer(echo(t)) // full duplex needs a real connection
	defer server.Close()
	sent := strings.Repeat("doze ", 100_000)
	resp, err := http.Post(server.URL+"/echo", "text/plain", strings.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != sent {
		t.Errorf("got %d bytes back of %d, error %v", len(got), len(sent), err)
	}
}

func echo(t *testing.T) http.Handler {
	t.Helper()
	handler, err := demoapp.Handler("echo", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func TestHandler_stream_sendsAsManyEventsAsAskedFor(t *testing.T) {
	w := ask(t, "echo", 0, get("/stream?n=3&every=1ms"))
	if n := strings.Count(w.Body.String(), "data: "); n != 3 {
		t.Errorf("%d events instead of 3:\n%s", n, w.Body)
	}
}

func TestHandler_unknownName_namesTheKnownOnes(t *testing.T) {
	_, err := demoapp.Handler("goodbye", time.Now())
	if err == nil || !strings.Contains(err.Error(), "echo, hello, slow") {
		t.Errorf("the error is %v", err)
	}
}
