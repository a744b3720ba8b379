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
	"sync/atomic"
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
	closed    chan struct{} // nothing is sent any more
	cut       chan struct{} // the connection ends
	mute      atomic.Bool   // nothing gets through
}

func newSubscription(r *http.Request) *subscription {
	return &subscription{
		closed: make(chan struct{}), cut: make(chan struct{}),
		namespace: namespaceOf(r), secret: secretOf(r),
	}
}

// close ends a subscription for good, and its connection or not.
func (s *subscription) close(cut bool) {
	s.once.Do(func() {
		if cut {
			close(s.cut)
		} else {
			close(s.closed)
		}
	})
}

// serveEvents serves GET /v1/event/stream: newline-delimited JSON, one
// operation a line, a heartbeat at once and every 30 s.
func (c *Cluster) serveEvents(w http.ResponseWriter, r *http.Request) (any, error) {
	q := r.URL.Query()
	if r.Method != http.MethodGet {
		return nil, errMethod
	}
	index, err := parseIndex(q.Get("index"))
	if err != nil {
		return nil, fail(http.StatusBadRequest, "Unable to parse index: %v", err)
	}
	sub := newSubscription(r)
	if sub.topics, err = parseTopics(q); err != nil {
		return nil, fail(http.StatusBadRequest, "Invalid topic query: error parsing topics: %v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	if c.maySubscribe(sub) != nil {
		return nil, c.silence(w, r)
	}
	at := c.store.broker.subscribe(sub, index)
	defer c.store.broker.unsubscribe(sub)
	return nil, c.pump(r, &lineWriter{w: w, rc: http.NewResponseController(w)}, sub, at)
}

// silence is how Nomad 2.0 treats a stream that it refuses or ends: the answer is
// 200, and no byte follows. To a client that accepts gzip (Go's do) the answer
// ends; otherwise the connection stays open, silently.
func (c *Cluster) silence(w http.ResponseWriter, r *http.Request) error {
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return nil
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return nil // the client left
	}
	select {
	case <-r.Context().Done():
	case <-c.ctx.Done():
	}
	return nil
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
		case <-sub.cut:
			return nil
		case <-sub.closed:
			return c.silence(out.w, r)
		case <-beat.C:
			if sub.mute.Load() {
				continue
			}
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
	if len(events) == 0 || sub.mute.Load() {
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
	n, err := strconv.Atoi(s) // as Nomad does, for the same errors
	return uint64(max(n, 0)), err
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
