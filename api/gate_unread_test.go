package api_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// tooLarge is an application that answers an upload before it has read it.
var tooLarge = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if r.Method == "POST" {
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}
})

// Whoever is told that the connection is kept must get an answer to the next request on it.
func TestUnread_answerBeforeTheBodysEnd_connectionGoesOnOrIsSaidToClose(t *testing.T) {
	inWorld(t, setup{app: &app{handler: tooLarge}, awake: true}, wantOnOrClosed(413, 0))
}

// The same where the target takes the connection and breaks off.
func TestUnread_targetBreaksOff_connectionGoesOnOrIsSaidToClose(t *testing.T) {
	breaks := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close() // a panic would have the server read the rest first
		}
	})
	inWorld(t, setup{app: &app{handler: breaks}, awake: true}, wantOnOrClosed(502, 5000))
}

// wantOnOrClosed sends a head and the first bytes of a body, waits for an answer, and only
// then sends the rest and the next request, unless the answer has said not to.
func wantOnOrClosed(status, first int) func(w *world) {
	return func(w *world) {
		conn, err := w.dialGate(w.t.Context(), "tcp", "")
		w.must(err)
		defer conn.Close()
		w.must(conn.SetDeadline(time.Now().Add(time.Minute)))
		in := bufio.NewReader(conn)
		_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: "+appHost+
			"\r\nContent-Length: 50000\r\n\r\n")
		w.must(err)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			time.Sleep(time.Second)
			io.WriteString(conn, strings.Repeat("x", first))
		}()
		res, err := http.ReadResponse(in, nil)
		w.must(err)
		if res.StatusCode != status {
			w.t.Errorf("status is %d, want %d", res.StatusCode, status)
		}
		if res.Close {
			return
		}
		<-sent
		go io.WriteString(conn, strings.Repeat("x", 50000-first)+
			"GET / HTTP/1.1\r\nHost: "+appHost+"\r\n\r\n")
		if _, err := http.ReadResponse(in, nil); err != nil {
			w.t.Errorf("the connection was kept, yet the next request got: %v", err)
		}
	}
}

// A client that asked to close and is still sending must not be cut off: over TCP it would
// lose the answer.
func TestUnread_refusedClientThatCloses_mayFinishItsBody(t *testing.T) {
	for name, head := range map[string]string{
		"close":    "POST / HTTP/1.1\r\nHost: nobody.example.org\r\nConnection: close\r\n",
		"HTTP/1.0": "POST / HTTP/1.0\r\nHost: nobody.example.org\r\n",
	} {
		t.Run(name, func(t *testing.T) { inWorld(t, setup{}, wantFinished(head, "404")) })
	}
}

// Nor must one to whom the application has said early that it will not have the body.
func TestUnread_answeredClientThatCloses_mayFinishItsBody(t *testing.T) {
	head := "POST / HTTP/1.1\r\nHost: " + appHost + "\r\nConnection: close\r\n"
	inWorld(t, setup{app: &app{handler: tooLarge}, awake: true}, wantFinished(head, "413"))
}

func wantFinished(head, status string) func(w *world) {
	return func(w *world) {
		conn, err := w.dialGate(w.t.Context(), "tcp", "")
		w.must(err)
		defer conn.Close()
		var answer strings.Builder
		done := make(chan struct{})
		go func() {
			defer close(done)
			io.Copy(&answer, conn)
		}()
		_, err = io.WriteString(conn, head+"Content-Length: 50000\r\n\r\n"+
			strings.Repeat("x", 50000))
		if err != nil {
			w.t.Errorf("cut off while it was sending: %v", err)
		}
		<-done
		if _, got, _ := strings.Cut(answer.String(), " "); !strings.HasPrefix(got, status) {
			w.t.Errorf("the answer is %q, want a %s", answer.String(), status)
		}
	}
}

// A client that never sends what it has announced is not waited for.
func TestUnread_refusedClientThatStalls_isCutOffSoon(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		conn, err := w.dialGate(w.t.Context(), "tcp", "")
		w.must(err)
		defer conn.Close()
		start := time.Now()
		_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: nobody.example.org\r\n"+
			"Connection: close\r\nContent-Length: 50000\r\n\r\n")
		w.must(err)
		if _, err := io.Copy(io.Discard, conn); err != nil {
			w.t.Error(err)
		}
		if took := time.Since(start); took > 2*time.Second {
			w.t.Errorf("the connection was open for %v", took)
		}
	})
}
