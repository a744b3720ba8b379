package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"doze/api/wire"
	"doze/idle"
)

const (
	maxStreams        = 256
	heartbeatInterval = 15 * time.Second // below what proxies take for a dead connection
	streamWriteLimit  = 10 * time.Second // a reader that takes nothing for this long is cut
	reconnectAfter    = 2 * time.Second
)

// followEvents answers GET /v1/events: server-sent events (WHATWG HTML, section 9.2).
func (c *control) followEvents(w http.ResponseWriter, r *call) error {
	if c.streams.Add(1) > maxStreams {
		c.streams.Add(-1)
		return problem(tooManyStreams, fmt.Sprintf("%d are open, which is the most", maxStreams),
			"close one, or try again later")
	}
	defer c.streams.Add(-1)
	reader := c.Journal.read(r.Header.Get("Last-Event-ID"))
	defer reader.close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // or some proxies keep events back
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	s := &eventStream{control: c, call: r, reader: reader, to: w}
	if err := s.run(); err != nil {
		c.Log.Debug("event stream ended", "remote", r.RemoteAddr, "reason", err)
	}
	return nil // the answer has begun: there is no other way to tell
}

// eventStream is one open answer to GET /v1/events. It runs on the request's goroutine.
type eventStream struct {
	*control
	call   *call
	reader *journalReader
	to     http.ResponseWriter
}

// run sends until the client leaves, takes nothing, loses its right, or the journal closes.
func (s *eventStream) run() error {
	heartbeat := time.NewTicker(heartbeatInterval)
	defer heartbeat.Stop()
	// The reset that may be due must come before the position that would hide it.
	err := s.send(fmt.Sprintf("retry: %d\n\n", reconnectAfter.Milliseconds()))
	if err == nil {
		err = s.forward()
	}
	if err == nil {
		err = s.send(s.mark())
	}
	for err == nil {
		select {
		case <-s.call.Context().Done():
			return s.call.Context().Err()
		case <-s.Journal.done:
			return errors.New("the journal is closed")
		case <-s.reader.signal:
			err = s.forward()
		case <-heartbeat.C:
			err = s.beat()
		}
	}
	return err
}

// forward sends one batch.
func (s *eventStream) forward() error {
	entries, lost := s.reader.batch()
	var out strings.Builder
	if lost != "" {
		if err := writeEvent(&out, wire.EventReset, "", wire.Reset{Reason: lost}); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := s.append(&out, e); err != nil {
			return err
		}
	}
	return s.send(out.String())
}

// append adds the event if the caller wants and may see it.
func (s *eventStream) append(out *strings.Builder, e journalEntry) error {
	id := wire.ID(e.Group)
	if !s.call.args.matches(id) || !s.call.args.matchesState(wire.State(e.To.String())) {
		return nil
	}
	readable, err := s.mayRead(s.call, e.Group)
	if err != nil || !readable {
		return err // nobody can tell: the client asks again from here
	}
	event := wire.Event{EventID: e.id, Transition: viewTransition(e.Transition)}
	return writeEvent(out, wire.EventTransition, e.id, event)
}

// beat keeps the connection from looking dead, asks again whether the caller is known, and
// moves the client's position past events that its filter left out.
func (s *eventStream) beat() error {
	r := s.call.Request
	if err := s.authorize(r.Context(), r, Read, idle.GroupID{}); err != nil {
		return err
	}
	return s.send(": heartbeat\n" + s.mark())
}

// mark is an event without data, which only sets the client's Last-Event-ID.
func (s *eventStream) mark() string { return "id: " + s.reader.position() + "\n\n" }

// send writes and flushes, and gives up on a reader that takes nothing.
func (s *eventStream) send(text string) error {
	if text == "" {
		return nil
	}
	ctl := http.NewResponseController(s.to)
	err := ctl.SetWriteDeadline(time.Now().Add(streamWriteLimit))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.to.Write([]byte(text)); err != nil {
		return err
	}
	return ctl.Flush()
}

// writeEvent adds one event. JSON has no line breaks, so that data is one line.
func writeEvent(out *strings.Builder, kind, id string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("cannot encode event %q: %w", id, err)
	}
	fmt.Fprintf(out, "event: %s\n", kind)
	if id != "" {
		fmt.Fprintf(out, "id: %s\n", id)
	}
	fmt.Fprintf(out, "data: %s\n\n", text)
	return nil
}
