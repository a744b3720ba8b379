package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"doze/api/wire"
	"doze/idle"
)

// eventReader is a client of GET /v1/events.
type eventReader struct {
	t      *testing.T
	body   io.ReadCloser
	lines  *bufio.Scanner
	lastID string
}

func (w *controlWorld) follow(query, lastID string, headers ...string) *eventReader {
	w.t.Helper()
	url := "http://localhost/v1/events" + query
	r, err := http.NewRequestWithContext(w.t.Context(), "GET", url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", lastID)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("answered %d %v", res.StatusCode, res.Header)
	}
	return &eventReader{t: w.t, body: res.Body, lines: bufio.NewScanner(res.Body),
		lastID: lastID}
}

// next returns the next event with data; ok is false at the stream's end.
func (e *eventReader) next() (kind, data string, ok bool) {
	for e.lines.Scan() {
		field, value, _ := strings.Cut(e.lines.Text(), ": ")
		switch {
		case e.lines.Text() == "" && data != "":
			return kind, data, true
		case field == "id":
			e.lastID = value
		case field == "event":
			kind = value
		case field == "data":
			data += value
		}
	}
	return "", "", false
}

// transition expects a transition.
func (e *eventReader) transition() wire.Event {
	e.t.Helper()
	kind, data, ok := e.next()
	var event wire.Event
	err := json.Unmarshal([]byte(data), &event)
	if err != nil || kind != wire.EventTransition || !ok {
		e.t.Fatalf("%v: event %q: %s", err, kind, data)
	}
	if event.EventID != e.lastID {
		e.t.Errorf("event_id %q, id %q", event.EventID, e.lastID)
	}
	return event
}

// reset expects a reset that says why.
func (e *eventReader) reset(why string) {
	e.t.Helper()
	kind, data, _ := e.next()
	if kind != wire.EventReset || !strings.Contains(data, why) {
		e.t.Fatalf("event %q: %s, not a reset because %q", kind, data, why)
	}
}

// record writes n transitions into the journal, numbered in Cause from first on.
func (w *controlWorld) record(first, n int, id wire.ID) {
	for i := range n {
		w.journal.Record(idle.Transition{Group: idle.GroupID(id), From: idle.Asleep,
			To: idle.Waking, At: time.Now(), Cause: fmt.Sprint(first + i)})
	}
}
