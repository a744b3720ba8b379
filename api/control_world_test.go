package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	"doze/api/wire"
	"doze/healthgate"
	"doze/idle"
)

// controlWorld is the control API over pipes, before a real loop whose groups are fake.
// Everything in it happens in a bubble's virtual time.
type controlWorld struct {
	t       *testing.T
	journal *api.Journal
	loop    *idle.Loop
	leases  *fakeLeaseStore
	log     *bytes.Buffer // complete once the bubble is at rest
	client  *http.Client
	groups  map[idle.GroupID]*fakeGroup
	schema  *answerSchema
}

// webID is the group that most tests need.
var webID = wire.ID{Namespace: "default", Job: "web", Group: "app"}

var quickPolicy = idle.Policy{
	Rungs:       []idle.Rung{{Depth: idle.Zero, After: 5 * time.Minute}},
	WakeTimeout: time.Minute,
}

type controlTest func(*testing.T, *controlWorld)

// authBy is a change of the config.
func authBy(auth api.Authorizer) func(*api.ControlConfig) {
	return func(cfg *api.ControlConfig) { cfg.Auth = auth }
}

// inControlWorld runs test in a bubble. change, if not nil, changes the config.
func inControlWorld(t *testing.T, change func(*api.ControlConfig), test controlTest) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &controlWorld{
			t: t, journal: api.NewJournal(100), leases: &fakeLeaseStore{},
			log: &bytes.Buffer{}, groups: map[idle.GroupID]*fakeGroup{},
		}
		log := slog.New(slog.NewTextHandler(w.log, nil))
		w.loop = idle.NewLoop(idle.Config{OnTransition: w.journal.Record})
		cfg := api.ControlConfig{Loop: w.loop, Journal: w.journal, Auth: api.Open{},
			Leases: w.leases, Log: log}
		if change != nil {
			change(&cfg)
		}
		handler, err := api.NewControl(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := w.loop.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("loop: %v", err)
			}
		})
		stop := w.serve(handler)
		defer func() { // also when the test has failed
			w.journal.Close()
			stop()
			cancel()
			running.Wait()
		}()
		w.schema = readAnswerSchema(t, w)
		test(t, w)
	})
}

// serve makes w.client reach the handler through pipes, and returns what ends the server.
func (w *controlWorld) serve(handler http.Handler) (stop func()) {
	listener := &controlListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := api.NewControlServer(handler, nil)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			w.t.Errorf("server: %v", err)
		}
	})
	transport := &http.Transport{DialContext: listener.dial}
	w.client = &http.Client{Transport: transport}
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	return func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			w.t.Errorf("close: %v", err)
		}
		serving.Wait()
		time.Sleep(time.Second) // a connection that was refused lingers for half of that
	}
}

// add starts managing a group that is asleep.
func (w *controlWorld) add(id wire.ID, policy idle.Policy) *fakeGroup {
	w.t.Helper()
	f := &fakeGroup{placesAfter: 10 * time.Millisecond, bootsAfter: 100 * time.Millisecond}
	group, err := w.loop.Add(idle.GroupConfig{
		ID: idle.GroupID(id), Policy: policy, Workload: f,
		Gate: healthgate.GateConfig{Probe: healthgate.ProbeConfig{Dial: f.dial}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	f.Group = group
	w.groups[idle.GroupID(id)] = f
	return f
}

// controlAnswer is a whole answer.
type controlAnswer struct {
	status int
	header http.Header
	text   string
}

// do sends a request; what is not empty of the body goes as JSON.
func (w *controlWorld) do(method, path, body string, headers ...string) controlAnswer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://localhost:4660"+path,
		strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.Host = r.Header.Get("Host") // "" leaves the URL's
	return w.send(r)
}

func (w *controlWorld) send(r *http.Request) controlAnswer {
	w.t.Helper()
	res, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	a := controlAnswer{res.StatusCode, res.Header, string(text)}
	if w.schema != nil {
		w.schema.check(w.t, r, a)
	}
	return a
}

// into decodes an answer that must have the status.
func into[T any](t *testing.T, a controlAnswer, status int) (v T) {
	t.Helper()
	if a.status != status {
		t.Fatalf("answered %d, not %d: %s", a.status, status, a.text)
	}
	if err := json.Unmarshal([]byte(a.text), &v); err != nil {
		t.Fatalf("%v in %s", err, a.text)
	}
	return v
}

// group reads a group.
func (w *controlWorld) group(id wire.ID) wire.GroupDetail {
	w.t.Helper()
	return into[wire.GroupDetail](w.t, w.do("GET", id.Path(), ""), 200)
}

// controlListener is a listener of pipes.
type controlListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *controlListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *controlListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *controlListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (l *controlListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
