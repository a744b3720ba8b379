package devnomad

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// heartbeat is how often an idle stream says {}.
const heartbeat = 30 * time.Second

// subscription is one open event stream.
type subscription struct {
	topics    map[nomad.Topic][]string
	namespace string
	secret    string
	once      sync.Once
	closed    chan struct{}
}

func (s *subscription) close() { s.once.Do(func() { close(s.closed) }) }

// streamEvents serves GET /v1/event/stream: newline-delimited JSON, one
// operation a line, a heartbeat at once and every 30 s.
func (c *Cluster) streamEvents(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	index, err := parseIndex(q.Get("index"))
	if err != nil {
		return fail(http.StatusBadRequest, "Unable to parse index: %v", err)
	}
	sub := &subscription{closed: make(chan struct{}), namespace: namespaceOf(r), secret: secretOf(r)}
	if sub.topics, err = parseTopics(q); err != nil {
		return fail(http.StatusBadRequest, "Invalid topic query: error parsing topics: %v", err)
	}
	if err := c.maySubscribe(sub); err != nil {
		return err
	}
	at := c.store.broker.subscribe(sub, index)
	defer c.store.broker.unsubscribe(sub)

	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	return c.pump(r, &lineWriter{w: w, rc: http.NewResponseController(w)}, sub, at)
}

// pump writes until the client, the cluster or the subscription goes away.
func (c *Cluster) pump(r *http.Request, out *lineWriter, sub *subscription, at *batch) error {
	if err := out.line([]byte("{}")); err != nil {
		return nil // the client left
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-c.ctx.Done():
			return nil
		case <-sub.closed:
			return nil
		case <-beat.C:
			if out.line([]byte("{}")) != nil {
				return nil
			}
		case <-at.ready:
			if c.send(out, sub, at) != nil {
				return nil
			}
			at = at.next
		}
	}
}

// send writes what the subscription wants of one operation, if anything.
func (c *Cluster) send(out *lineWriter, sub *subscription, at *batch) error {
	var events []json.RawMessage
	for _, e := range at.events {
		if e.matches(sub.topics, sub.namespace) {
			for range c.faults.copies(e) {
				events = append(events, e.encoded)
			}
		}
	}
	if len(events) == 0 {
		return nil
	}
	line, err := json.Marshal(struct {
		Index  uint64
		Events []json.RawMessage
	}{at.index, events})
	if err != nil {
		return fmt.Errorf("cannot encode the events of index %d: %w", at.index, err)
	}
	return out.line(line)
}

// lineWriter writes one line and flushes it.
type lineWriter struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (l *lineWriter) line(b []byte) error {
	if _, err := l.w.Write(append(b, '\n')); err != nil {
		return err
	}
	return l.rc.Flush()
}

func parseIndex(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	return strconv.ParseUint(s, 10, 64)
}

// parseTopics reads topic=T or topic=T:key; none at all means everything.
func parseTopics(q url.Values) (map[nomad.Topic][]string, error) {
	raw, ok := q["topic"]
	if !ok {
		return map[nomad.Topic][]string{"*": {"*"}}, nil
	}
	out := map[nomad.Topic][]string{}
	for _, s := range raw {
		topic, k, found := strings.Cut(s, ":")
		if strings.Contains(k, ":") {
			return nil, errors.New("Invalid key value pair for topic, topic: " + s)
		}
		if !found {
			k = "*"
		}
		out[nomad.Topic(topic)] = append(out[nomad.Topic(topic)], k)
	}
	return out, nil
}
