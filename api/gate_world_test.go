package api_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/api"
	"doze/healthgate"
	"doze/idle"
)

const (
	gateAddr  = "gate:80"
	appAddr   = "10.0.0.1:8080"
	appHost   = "app.example.com"
	idleAfter = 10 * time.Second
)

// world is a gate in front of one group whose workload is an http.Handler, in a bubble.
type world struct {
	t      *testing.T
	net    *pipes
	app    *app
	routes *api.Routes
	gate   *api.Gate
	loop   *idle.Loop
	group  *idle.Group
	client *http.Client
	server server
}

// setup is what a test may want different.
type setup struct {
	site   api.Site
	gate   api.GateConfig
	probe  healthgate.ProbeConfig
	policy idle.Policy
	app    *app // nil: answers at once
	awake  bool
	off    bool // the kill switch of the group\'s own gate
}

// server is what a gate is served by.
type server interface {
	Serve(l net.Listener) error
	Shutdown(ctx context.Context) error
	Close() error
}

// inWorld runs f in a bubble with a world that is asleep, unless s.awake; once with the
// gate's Server and once with its Front.
func inWorld(t *testing.T, s setup, f func(w *world)) {
	t.Helper()
	t.Run("server", func(t *testing.T) {
		inWorldServed(t, s, func(g *api.Gate) server { return g.Server() }, f)
	})
	t.Run("front", func(t *testing.T) {
		inWorldServed(t, s, func(g *api.Gate) server { return g.Front() }, f)
	})
}

// onServer is inWorld with the Server alone, for what costs time and is held anyway.
func onServer(t *testing.T, s setup, f func(w *world)) {
	t.Helper()
	inWorldServed(t, s, func(g *api.Gate) server { return g.Server() }, f)
}

func inWorldServed(t *testing.T, s setup, serve func(*api.Gate) server, f func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := newWorld(t, s)
		var running sync.WaitGroup
		server := serve(w.gate)
		w.server = server
		listener := w.net.listen(gateAddr, 10000)
		running.Go(func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
		running.Go(func() {
			if err := w.loop.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		defer func() {
			w.client.CloseIdleConnections()
			server.Close()
			cancel()
			w.app.stop()
			running.Wait()
			time.Sleep(time.Hour) // for handlers that sleep
		}()
		if s.awake {
			w.must(w.group.Wake(ctx, "test"))
			time.Sleep(time.Second)
		}
		f(w)
	})
}

func newWorld(t *testing.T, s setup) *world {
	w := &world{t: t, net: newPipes(), routes: api.NewRoutes(), app: &app{}}
	if s.app != nil {
		w.app = s.app.fresh()
	}
	w.app.net = w.net
	s.gate.Routes = w.routes
	if s.gate.Dial == nil {
		s.gate.Dial = w.net.DialContext
	}
	gate, err := api.NewGate(s.gate)
	w.must(err)
	w.gate = gate
	w.loop = idle.NewLoop(idle.Config{})
	s.probe.Dial = w.net.DialContext
	if s.policy.Rungs == nil {
		s.policy.Rungs = []idle.Rung{{Depth: idle.Zero, After: idleAfter}}
	}
	if s.policy.WakeTimeout == 0 {
		s.policy.WakeTimeout = 60 * time.Second
	}
	w.group, err = w.loop.Add(idle.GroupConfig{
		ID:       idle.GroupID{Namespace: "default", Job: "shop", Group: "web"},
		Policy:   s.policy,
		Gate:     healthgate.GateConfig{Probe: s.probe, Off: s.off, OnGone: gate.OnGone},
		Workload: w.app,
	})
	w.must(err)
	w.app.group = w.group
	site := s.site
	site.Group, site.Routes = w.group, []api.Route{{Hosts: []string{appHost}}}
	if c := w.routes.Put(&site); c != nil {
		t.Fatalf("conflicts: %v", c)
	}
	w.client = &http.Client{
		Transport: &http.Transport{DialContext: w.dialGate, DisableCompression: true,
			ExpectContinueTimeout: time.Hour, MaxIdleConnsPerHost: 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// dialGate connects to the gate, whatever the host.
func (w *world) dialGate(ctx context.Context, network, _ string) (net.Conn, error) {
	return w.net.DialContext(ctx, network, gateAddr)
}

func (w *world) state() idle.State { return w.group.Status().State }

func (w *world) request(method, path string, body io.Reader) *http.Request {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+appHost+path, body)
	w.must(err)
	return r
}

// answer is a response that has been read whole.
type answer struct {
	*http.Response
	body string
	took time.Duration
}

func (w *world) do(r *http.Request) answer {
	w.t.Helper()
	start := time.Now()
	res, err := w.client.Do(r)
	w.must(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	w.must(err)
	return answer{res, string(body), time.Since(start)}
}

func (w *world) get(path string) answer {
	w.t.Helper()
	return w.do(w.request("GET", path, nil))
}

// navigate is a GET as a browser makes it for a link.
func (w *world) navigate(path string) answer {
	w.t.Helper()
	r := w.request("GET", path, nil)
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	return w.do(r)
}

func (w *world) wantStatus(a answer, status int) {
	w.t.Helper()
	if a.StatusCode != status {
		w.t.Fatalf("status is %d (%q), want %d", a.StatusCode, a.body, status)
	}
}

func (w *world) wantState(s idle.State) {
	w.t.Helper()
	if got := w.state(); got != s {
		w.t.Fatalf("the group is %v, want %v", got, s)
	}
}

// app is the workload: it listens bootTime after a wake.
type app struct {
	handler  http.Handler // nil: answers "hello"
	bootTime time.Duration
	sleep    func(ctx context.Context) error // instead of falling asleep at once
	fail     error                           // of every wake
	never    bool                            // never listens
	h2c      bool
	backlog  int

	net   *pipes
	group *idle.Group

	mu     sync.Mutex
	server *http.Server
	wakes  int
	sleeps int
	served sync.WaitGroup
}

// fresh returns an app that is set up the same.
func (a *app) fresh() *app {
	return &app{handler: a.handler, bootTime: a.bootTime, sleep: a.sleep, fail: a.fail,
		never: a.never, h2c: a.h2c, backlog: a.backlog}
}

func (a *app) Wake(ctx context.Context, _ healthgate.Generation) error {
	a.mu.Lock()
	a.wakes++
	fail, never := a.fail, a.never
	a.mu.Unlock()
	if fail != nil {
		return fail
	}
	a.group.SetTargets([]healthgate.Target{{ID: "alloc-1", Addr: appAddr}})
	if never {
		return nil
	}
	a.served.Go(func() {
		time.Sleep(a.bootTime)
		a.listen()
	})
	return nil
}

// listen serves anew.
func (a *app) listen() {
	a.mu.Lock()
	if a.server != nil {
		a.mu.Unlock()
		return
	}
	handler := a.handler
	if handler == nil {
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "hello")
		})
	}
	a.server = &http.Server{Handler: handler}
	if a.h2c {
		a.server.Protocols = &http.Protocols{}
		a.server.Protocols.SetHTTP1(true)
		a.server.Protocols.SetUnencryptedHTTP2(true)
	}
	server, listener := a.server, a.net.listen(appAddr, max(a.backlog, 128))
	a.mu.Unlock()
	server.Serve(listener)
}

func (a *app) Sleep(ctx context.Context, _ healthgate.Generation, _ idle.Depth, _ string) error {
	a.mu.Lock()
	a.sleeps++
	a.mu.Unlock()
	if a.sleep != nil {
		if err := a.sleep(ctx); err != nil {
			return err
		}
	}
	a.stop()
	return nil
}

// stop kills it, connections and all.
func (a *app) stop() {
	a.mu.Lock()
	if a.server != nil {
		a.server.Close()
	}
	a.server = nil
	a.mu.Unlock()
}

// change makes it behave differently from now on.
func (a *app) change(f func(a *app)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a)
}

func (a *app) counts() (wakes, sleeps int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wakes, a.sleeps
}

func (w *world) wantWakes(n int) {
	w.t.Helper()
	if wakes, _ := w.app.counts(); wakes != n {
		w.t.Fatalf("%d wakes, want %d", wakes, n)
	}
}

// mustContain fails the test unless s holds part.
func (w *world) mustContain(s, part string) {
	w.t.Helper()
	if !strings.Contains(s, part) {
		w.t.Fatalf("%q does not contain %q", s, part)
	}
}

// sleepFor is an app that takes d to fall asleep.
func sleepFor(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
