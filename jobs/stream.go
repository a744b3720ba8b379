package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// Nomad sends a heartbeat at once and then every 30 s.
const (
	firstLineWithin = 3 * time.Second
	nextLineWithin  = 75 * time.Second
)

var (
	// errNotOpened: the stream did not send its first line. Nomad 2.0.5 refuses a
	// subscription with status 200 and then says nothing for as long as one listens;
	// other versions answer 403, or end the stream.
	errNotOpened = errors.New("the event stream does not begin; the token may lack read-job")
	errSilent    = errors.New("the event stream went silent")
)

// event is one entry of Nomad's event stream; the payload is decoded by whoever wants it.
type event struct {
	Topic      nomad.Topic
	Type       string
	Key        string
	Namespace  string
	FilterKeys []string
	Index      uint64
	Payload    json.RawMessage
}

// batch is one line of the stream; a heartbeat has no events.
type batch struct {
	Index  uint64
	Events []event
}

const streamPath = "/v1/event/stream?topic=Job&topic=Allocation"

// stream subscribes to the jobs and allocations of a namespace ("*": every one that exists
// now) and calls each for every line, heartbeats included, until the stream ends, goes
// silent, or each returns false. It never returns nil.
func (c client) stream(ctx context.Context, namespace string, each func(batch) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(callTimeout, func() { cancel(errNoAnswer) })
	expect := func(within time.Duration, otherwise error) {
		watchdog.Stop()
		watchdog = time.AfterFunc(within, func() { cancel(otherwise) })
	}
	defer func() { watchdog.Stop() }()
	what := "follow the events of namespace " + quoted(namespace)
	q := (&nomad.QueryOptions{Namespace: namespace}).WithContext(ctx)
	body, err := c.api.Raw().Response(streamPath, q)
	if err != nil {
		return c.explain(ctx, what, err)
	}
	defer body.Close()
	expect(firstLineWithin, errNotOpened)
	err = readLines(body, func(b batch) bool {
		expect(nextLineWithin, errSilent)
		return each(b)
	})
	return c.explain(ctx, what, err)
}

// readLines calls each for every line of r, and returns why it stopped.
func readLines(r io.Reader, each func(batch) bool) error {
	lines := json.NewDecoder(r)
	for opened := false; ; opened = true {
		var b batch
		err := lines.Decode(&b)
		switch {
		case errors.Is(err, io.EOF) && !opened:
			return errNotOpened
		case err != nil:
			return err
		case !each(b):
			return context.Canceled
		}
	}
}
