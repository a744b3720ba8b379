package healthgate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

// drainRecord is what a test saw, each line with its time since the test began.
type drainRecord struct {
	mu    sync.Mutex
	began time.Time
	lines []string
}

func newDrainRecord() *drainRecord { return &drainRecord{began: time.Now()} }

func (r *drainRecord) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf("%v ", time.Since(r.began))+fmt.Sprintf(format, args...))
}

func (r *drainRecord) step(e healthgate.DrainEvent) {
	r.add("step %s took %v, complete: %t", e.Step, e.Took, e.Err == nil)
}

func (r *drainRecord) part(name string, takes time.Duration) healthgate.DrainPart {
	return healthgate.DrainPart{Name: name, Stop: func(ctx context.Context) error {
		select {
		case <-time.After(takes):
			r.add("%s done", name)
			return nil
		case <-ctx.Done():
			r.add("%s cut: %v", name, context.Cause(ctx))
			return ctx.Err()
		}
	}}
}

func (r *drainRecord) expect(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.lines, want) {
		t.Errorf("saw\n\t%s\nwant\n\t%s", strings.Join(r.lines, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func newDrain(t *testing.T, cfg healthgate.DrainConfig) *healthgate.Drain {
	t.Helper()
	d, err := healthgate.NewDrain(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// slowHandler answers after the duration in the query, or when its connection is cut.
func slowHandler(w http.ResponseWriter, r *http.Request) {
	takes, err := time.ParseDuration(r.FormValue("takes"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(takes):
	case <-r.Context().Done():
	}
}

// A balancer sends for a while to what is told to go: readiness first, listeners last (field case 30).
// Mutations: take the requests step before the delay: the request at 2s finds no listener.
// Drop readiness after the delay: readiness is 200 at 2s. Stop the components first, or
// don't wait for the background: the record's order differs.
func TestDrain_wholeOrder_losesNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := newDrainRecord()
		h := startedHealth(t, healthgate.HealthConfig{})
		server := newDrainedServer(h.Wrap(http.HandlerFunc(slowHandler)))
		d := newDrain(t, healthgate.DrainConfig{
			Delay: 5 * time.Second, Timeout: 25 * time.Second,
			Health: h, Servers: []healthgate.DrainServer{server}, OnStep: record.step,
			Background: []healthgate.DrainPart{
				record.part("mail", 2*time.Second), record.part("index", 3*time.Second),
			},
			Components: []healthgate.DrainPart{
				record.part("database", time.Second), record.part("cache", time.Second),
			},
		})
		var clients sync.WaitGroup
		clients.Go(func() { record.add("long request: %d", server.get("/?takes=8s")) })
		clients.Go(func() {
			time.Sleep(2 * time.Second)
			record.add("readiness: %d, liveness: %d", server.get("/readyz"), server.get("/livez"))
			record.add("new request in the delay: %d", server.get("/?takes=1s"))
			time.Sleep(3 * time.Second)
			record.add("new request after the delay: %d", server.get("/?takes=1s"))
		})
		synctest.Wait()
		if err := d.Run(t.Context()); err != nil {
			t.Error(err)
		}
		clients.Wait()
		server.serve.Wait()
		expectStepsInOrder(t, record)
	})
}

// expectStepsInOrder leaves out how long the requests step took: http.Server looks for its
// end twice a second.
func expectStepsInOrder(t *testing.T, record *drainRecord) {
	t.Helper()
	var names []string
	for _, line := range record.lines {
		_, what, _ := strings.Cut(line, " ")
		what, _, _ = strings.Cut(what, " took")
		names = append(names, what)
	}
	want := []string{
		"step readiness",
		"readiness: 503, liveness: 200",
		"new request in the delay: 200",
		"step delay",
		"new request after the delay: 0",
		"long request: 200",
		"step requests",
		"mail done",
		"index done",
		"step background",
		"cache done",
		"database done",
		"step components",
	}
	if !slices.Equal(names, want) {
		t.Errorf("saw\n\t%s", strings.Join(record.lines, "\n\t"))
	}
}

// A drain lasts as long as its requests, not as long as it may (field case 26).
func TestDrain_requestsFinish_endsWithThemAndNotAtTheLimit(t *testing.T) {
	for takes, most := range map[time.Duration]time.Duration{
		0:                time.Millisecond,
		2 * time.Second:  2600 * time.Millisecond,
		40 * time.Second: 40600 * time.Millisecond,
	} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newDrainedServer(http.HandlerFunc(slowHandler))
				var client sync.WaitGroup
				if takes > 0 {
					client.Go(func() {
						if status := server.get("/?takes=" + takes.String()); status != 200 {
							t.Errorf("status %d", status)
						}
					})
					synctest.Wait()
				}
				began := time.Now()
				d := newDrain(t, healthgate.DrainConfig{
					Timeout: time.Minute, Servers: []healthgate.DrainServer{server},
				})
				if err := d.Run(t.Context()); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took < takes || took > most {
					t.Errorf("took %v for a request of %v", took, takes)
				}
				client.Wait()
				server.serve.Wait()
			})
		})
	}
}

func TestDrain_timeIsUp_cutsEachStepAndEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := newDrainRecord()
		server := newDrainedServer(http.HandlerFunc(slowHandler))
		hangs := make(chan struct{})
		d := newDrain(t, healthgate.DrainConfig{
			Delay: time.Second, Timeout: 10 * time.Second,
			Servers: []healthgate.DrainServer{server}, OnStep: record.step,
			BeforeCut: func() { record.add("before cut") },
			Background: []healthgate.DrainPart{{Name: "mail",
				Stop: func(context.Context) error { <-hangs; return nil }}},
			Components: []healthgate.DrainPart{record.part("database", time.Second)},
		})
		var client sync.WaitGroup
		client.Go(func() { record.add("request: %d", server.get("/?takes=30s")) })
		synctest.Wait()
		err := d.Run(t.Context())
		for _, want := range []string{
			"cannot finish the requests of server 0: cut off: the shutdown's time is up",
			`cannot finish background work "mail": abandoned: the shutdown's time is up`,
			`cannot stop component "database": `,
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %q lacks %q", err, want)
			}
		}
		close(hangs)
		client.Wait()
		server.serve.Wait()
		record.mu.Lock()
		// The client sees the cut at the same instant as the step ends.
		record.lines = slices.DeleteFunc(record.lines, func(l string) bool {
			return strings.HasSuffix(l, "request: 0")
		})
		record.mu.Unlock()
		record.expect(t,
			"0s step readiness took 0s, complete: true",
			"1s step delay took 1s, complete: true",
			"9.25s before cut",
			"9.5s step requests took 8.5s, complete: false",
			"9.75s step background took 250ms, complete: false",
			"9.75s database cut: the shutdown's time is up",
			"9.75s step components took 0s, complete: false",
		)
	})
}

func TestDrain_heldRequests_areRefusedBeforeTheCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := make(chan struct{})
		server := newDrainedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-refuse
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		d := newDrain(t, healthgate.DrainConfig{
			Timeout: 5 * time.Second, Servers: []healthgate.DrainServer{server},
			BeforeCut: func() { close(refuse) },
		})
		var client sync.WaitGroup
		for range 100 {
			client.Go(func() {
				resp, err := server.client.Get("http://doze.test/")
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "2" || !resp.Close {
					t.Errorf("status %d, close %t", resp.StatusCode, resp.Close)
				}
			})
		}
		synctest.Wait()
		_ = d.Run(t.Context()) // whether its last look was before the cut is http.Server's luck
		client.Wait()
		server.serve.Wait()
	})
}

func TestDrain_secondSignal_cutsItShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := newDrainRecord()
		h := startedHealth(t, healthgate.HealthConfig{})
		d := newDrain(t, healthgate.DrainConfig{
			Delay: 20 * time.Second, Timeout: 30 * time.Second, Health: h, OnStep: record.step,
			Background: []healthgate.DrainPart{record.part("mail", 10*time.Second)},
			Components: []healthgate.DrainPart{
				record.part("database", 10*time.Second),
				{Name: "cache", Stop: func(context.Context) error {
					time.Sleep(50 * time.Millisecond) // within its grace
					record.add("cache done")
					return nil
				}},
			},
		})
		ctx, second := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, second)
		if err := d.Run(ctx); !errors.Is(err, healthgate.ErrHurried) {
			t.Errorf("Run: %v", err)
		}
		record.expect(t,
			"0s step readiness took 0s, complete: true",
			"3s step delay took 3s, complete: false",
			"3s step requests took 0s, complete: true",
			"3s mail cut: the shutdown was hurried",
			"3s step background took 0s, complete: false",
			"3.05s cache done",
			"3.05s database cut: the shutdown was hurried",
			"3.05s step components took 50ms, complete: false",
		)
	})
}

// What is started again after a drain can be drained again (field case 27).
func TestDrain_runAgainAfterARestart_isWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startedHealth(t, healthgate.HealthConfig{})
		var upgraded healthgate.Upgraded
		var steps int
		d := newDrain(t, healthgate.DrainConfig{
			Delay: time.Second, Health: h, Upgraded: &upgraded,
			OnStep: func(healthgate.DrainEvent) { steps++ },
		})
		for life := range 3 {
			h.Start()
			if err := h.Ready(t.Context()); err != nil {
				t.Errorf("life %d: %v", life, err)
			}
			gone := upgraded.Track(nil, func() { t.Errorf("life %d: told to go", life) })
			synctest.Wait()
			gone()
			began := time.Now()
			if err := d.Run(t.Context()); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != time.Second || steps != 5*(life+1) {
				t.Errorf("life %d: %v, %d steps in all", life, took, steps)
			}
		}
	})
}

func TestDrain_panickingPart_isAnErrorAndTheRestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := newDrainRecord()
		d := newDrain(t, healthgate.DrainConfig{Components: []healthgate.DrainPart{
			record.part("database", 0),
			{Name: "cache", Stop: func(context.Context) error { panic("boom") }},
		}})
		err := d.Run(t.Context())
		if err == nil || err.Error() != `cannot stop component "cache": panicked: boom` {
			t.Errorf("Run: %v", err)
		}
		record.expect(t, "0s database done")
	})
}
