package demoapp

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
)

// newEcho returns an application that answers with what it is sent: a WebSocket at /ws, a
// body at /echo, and a stream of server-sent events at /stream?n=5&every=1s.
func newEcho(time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/ws", echoSocket)
	mux.HandleFunc("/echo", echoBody)
	mux.HandleFunc("/stream", streamEvents)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "Try /ws (WebSocket), POST /echo, /stream?n=5&every=1s")
	})
	return mux
}

func echoSocket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer conn.Close()
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil {
			return // the client has closed
		}
		if err := conn.WriteMessage(kind, message); err != nil {
			return // the client has gone
		}
	}
}

func echoBody(w http.ResponseWriter, r *http.Request) {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		http.Error(w, "cannot echo while reading", http.StatusInternalServerError)
		return
	}
	if _, err := io.Copy(w, r.Body); err != nil {
		panic(http.ErrAbortHandler) // a cut body must not look like a whole answer
	}
}

func streamEvents(w http.ResponseWriter, r *http.Request) {
	n, every := streamShape(r)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for i := 1; i <= n; i++ {
		fmt.Fprintf(w, "data: %d of %d\n\n", i, n)
		if err := control.Flush(); err != nil {
			return // the client has gone
		}
		if i == n {
			return
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
}

// streamShape reads n (default 5) and every (default 1s) of the query; what cannot be
// read is left at its default.
func streamShape(r *http.Request) (n int, every time.Duration) {
	n, every = 5, time.Second
	if v, err := strconv.Atoi(r.FormValue("n")); err == nil && v > 0 {
		n = v
	}
	if v, err := time.ParseDuration(r.FormValue("every")); err == nil && v > 0 {
		every = v
	}
	return n, every
}
