package api_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doze/api"
	"doze/healthgate"
	"doze/idle"
)

// deadlineGrace is how much longer than its limit a request may be held.
const deadlineGrace = 100 * time.Millisecond

func TestHold_overTheGroupsBound_isShed(t *testing.T) {
	inWorld(t, setup{site: api.Site{MaxHeld: 3}, app: &app{bootTime: time.Second}}, wantShed(3))
}

func TestHold_overTheGatesBound_isShed(t *testing.T) {
	inWorld(t, setup{gate: api.GateConfig{MaxHeld: 3}, app: &app{bootTime: time.Second}}, wantShed(3))
}

// wantShed wants all requests over the bound turned away at once, and places to be free
// again afterwards.
func wantShed(bound int) func(w *world) {
	return func(w *world) {
		for range 2 {
			var all sync.WaitGroup
			for range bound {
				all.Go(func() { w.wantStatus(w.get("/"), 200) })
			}
			synctest.Wait()
			a := w.get("/")
			w.wantStatus(a, 503)
			w.wantRetry(a)
			if a.took != 0 {
				w.t.Errorf("it was held for %v", a.took)
			}
			all.Wait()
			w.must(w.group.Sleep(w.t.Context(), "test", true))
		}
	}
}

func TestHold_shedClients_areSentAwayForDifferentTimes(t *testing.T) {
	inWorld(t, setup{site: api.Site{MaxHeld: 1}, app: &app{bootTime: time.Second}}, func(w *world) {
		var held sync.WaitGroup
		held.Go(func() { w.get("/") })
		synctest.Wait()
		seen := map[string]bool{}
		for range 50 {
			seen[w.get("/").Header.Get("Retry-After")] = true
		}
		if len(seen) < 2 {
			t.Errorf("all are told %v", seen)
		}
		held.Wait()
	})
}

// Whoever has waited for a wake gets what comes of it, not a deadline of its own just before.
func TestHold_onTimeoutOpen_whoWaitedIsAdmitted(t *testing.T) {
	sick := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s := setup{app: &app{handler: sick}, site: api.Site{WakeTimeout: 2 * time.Second},
		probe:  healthgate.ProbeConfig{Kind: "http", Path: "/healthz"},
		policy: idle.Policy{WakeTimeout: 2 * time.Second, FailOpen: true}}
	inWorld(t, s, func(w *world) {
		for range 3 {
			w.wantStatus(w.get("/"), 200)
			w.must(w.group.Sleep(w.t.Context(), "test", true))
			time.Sleep(time.Second)
		}
	})
}

// field case 25: the wake's limit is the one that counts, and the answer names it.
func TestHold_wakeTimesOut_answerIsItsFailureAndNamesTheLimit(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := setup{app: &app{never: true}, site: api.Site{WakeTimeout: 2 * time.Second},
		policy: idle.Policy{WakeTimeout: 2 * time.Second},
		gate:   api.GateConfig{Metrics: api.NewMetrics(reg)}}
	onServer(t, s, func(w *world) {
		a := w.get("/")
		w.wantStatus(a, 503)
		w.mustContain(a.body, "not ready within 2 seconds")
		w.wantRetry(a)
		if a.took < 2*time.Second || a.took >= 2*time.Second+deadlineGrace {
			w.t.Errorf("took %v, want the wake's 2s", a.took)
		}
		if n := scrape(t, reg)[`doze_gate_requests_total{outcome failed}`]; n != 1 {
			w.t.Errorf("%v requests are counted as failed: %v", n, scrape(t, reg))
		}
	})
}

// field case 25: refusals do not extend the deadline, which counts from the arrival.
// Mutation: with the deadline counted from each hold, it is held for ever.
func TestHold_readyTargetRefusesForEver_answersAtOneDeadline(t *testing.T) {
	refuse := func(context.Context, string, string) (net.Conn, error) {
		return nil, syscall.ECONNREFUSED
	}
	s := setup{site: api.Site{WakeTimeout: 20 * time.Second}, awake: true,
		gate: api.GateConfig{Dial: refuse}}
	inWorld(t, s, func(w *world) {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		a := w.do(w.request("GET", "/", nil).WithContext(ctx))
		w.wantStatus(a, 503)
		w.wantRetry(a)
		if a.took < 20*time.Second || a.took > 20*time.Second+deadlineGrace {
			w.t.Errorf("took %v, want the deadline of 20s", a.took)
		}
	})
}

// At this process's limit of descriptors a request waits; the target is not to blame.
func TestHold_noDescriptorLeft_isNotTheTargetsFault(t *testing.T) {
	var w *world
	dials := 0
	short := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials++; dials < 4 {
			if members := w.group.Gate().Members(); len(members) != 1 || !members[0].Admitted {
				w.t.Errorf("before dial %d: %+v", dials, members)
			}
			return nil, &net.OpError{Op: "dial", Err: syscall.EMFILE}
		}
		return w.net.DialContext(ctx, network, addr)
	}
	inWorld(t, setup{awake: true, gate: api.GateConfig{Dial: short}}, func(here *world) {
		w = here
		w.wantStatus(w.get("/"), 200)
		w.wantWakes(1)
	})
}

// A client that sends garbage must not discredit the target.
func TestHold_brokenBodies_areNotTheTargetsFault(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
		for range 10 {
			conn, err := w.dialGate(w.t.Context(), "tcp", "")
			w.must(err)
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n", appHost)
			io.ReadAll(conn)
			conn.Close()
		}
		if members := w.group.Gate().Members(); len(members) != 1 || !members[0].Admitted {
			t.Errorf("members: %+v", members)
		}
		w.wantStatus(w.get("/"), 200)
		w.wantWakes(1)
	})
}

// The client of a held POST, whose body nobody reads yet, is noticed to leave by the state
// of its connection: this needs a real one.
func TestHold_clientOfUnreadBodyLeaves_freesItsPlace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	loop := idle.NewLoop(idle.Config{})
	running.Go(func() {
		if err := loop.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	never := &app{never: true}
	group, err := loop.Add(idle.GroupConfig{ID: idle.GroupID{Job: "shop"}, Workload: never,
		Policy: idle.Policy{WakeTimeout: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	never.group, never.net = group, newPipes()
	routes := api.NewRoutes()
	routes.Put(&api.Site{Group: group, WakeTimeout: time.Hour,
		Routes: []api.Route{{Hosts: []string{appHost}}}})
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF }
	gate, err := api.NewGate(api.GateConfig{Routes: routes, Dial: healthgate.DialFunc(refuse)})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := gate.Server()
	running.Go(func() { server.Serve(listener) })
	defer server.Close()

	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n\r\n%s", appHost,
		strings.Repeat("x", 500))
	waitFor(t, "the request is held", func() bool { return group.Status().InFlight == 1 })
	conn.Close()
	waitFor(t, "its place is free", func() bool { return group.Status().InFlight == 0 })
}

// waitFor spins until cond holds; outside a bubble only.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); {
		if time.Now().After(end) {
			t.Fatalf("20s have passed before %s", what)
		}
		runtime.Gosched()
	}
}
