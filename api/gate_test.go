package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doze/api"
	"doze/healthgate"
	"doze/idle"
)

// field case 19: the request itself is the cause of the wake.
// field case 32: a target that is up 120 ms after it was placed gets the request at once.
func TestGate_requestForSleepingGroup_isAnsweredWhenReady(t *testing.T) {
	inWorld(t, setup{app: &app{bootTime: 120 * time.Millisecond}}, func(w *world) {
		a := w.get("/")
		w.wantStatus(a, 200)
		if a.body != "hello" {
			t.Errorf("body is %q", a.body)
		}
		if a.took > 150*time.Millisecond {
			t.Errorf("took %v, want less than 150ms", a.took)
		}
		synctest.Wait() // for the loop to take note
		w.wantState(idle.Ready)
		w.wantWakes(1)
		if cause := w.group.Status().LastWake.Cause; cause != "request" {
			t.Errorf("cause is %q", cause)
		}
	})
}

func TestGate_answerOfWokenGroup_saysWhereTimeWent(t *testing.T) {
	inWorld(t, setup{app: &app{bootTime: 120 * time.Millisecond}}, func(w *world) {
		first := w.get("/").Header.Get("Server-Timing")
		w.mustContain(first, "place;dur=")
		w.mustContain(first, "boot;dur=1")
		w.mustContain(first, "probe;dur=")
		synctest.Wait() // for the loop to take note
		if later := w.get("/").Header.Get("Server-Timing"); later != "" {
			t.Errorf("a later answer has Server-Timing %q", later)
		}
	})
}

// field case 18: any number of requests cause one wake.
func TestGate_manyRequestsAtOnce_wakeOnceAndAllAnswered(t *testing.T) {
	inWorld(t, setup{app: &app{bootTime: time.Second}}, func(w *world) {
		w.atOnce(500)
		w.wantWakes(1)
	})
}

// field case 23: thousands released at once overrun no backlog.
func TestGate_thousandsReleasedAtOnce_noneFails(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := setup{site: api.Site{MaxHeld: 6000}, app: &app{bootTime: time.Second, backlog: 128},
		gate: api.GateConfig{Metrics: api.NewMetrics(reg)}}
	onServer(t, s, func(w *world) {
		w.atOnce(5000)
		w.wantWakes(1)
		// Mutation: without the pace some are refused, and only saved by being held again.
		if n := scrape(t, reg)["doze_gate_refused_dials_total"]; n != 0 {
			t.Errorf("%v connections were refused", n)
		}
	})
}

func (w *world) atOnce(n int) {
	w.t.Helper()
	transport := w.client.Transport.(*http.Transport)
	transport.MaxIdleConnsPerHost = -1
	failed := make(chan string, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if a := w.get("/"); a.StatusCode != 200 || a.body != "hello" {
				failed <- fmt.Sprint(a.StatusCode, a.body)
			}
		})
	}
	all.Wait()
	close(failed)
	if len(failed) > 0 {
		w.t.Fatalf("%d of %d failed, one with %s", len(failed), n, <-failed)
	}
}

// field case 17: a request that comes while the group is being put to sleep waits through
// that and wakes it again.
func TestGate_requestWhileFallingAsleep_waitsThroughAndIsAnswered(t *testing.T) {
	s := setup{awake: true, app: &app{sleep: sleepFor(2 * time.Second)}}
	inWorld(t, s, func(w *world) {
		time.Sleep(idleAfter + 500*time.Millisecond)
		w.wantState(idle.Sleeping)
		a := w.get("/")
		w.wantStatus(a, 200)
		w.wantWakes(2)
	})
}

// field case 17: at every instant around the moment of falling asleep.
func TestGate_requestAtAnyInstantOfFallingAsleep_isAnswered(t *testing.T) {
	s := setup{app: &app{bootTime: 30 * time.Millisecond, sleep: sleepFor(50 * time.Millisecond)},
		policy: idle.Policy{DrainDelay: 20 * time.Millisecond}}
	inWorld(t, s, func(w *world) {
		for shift := -10 * time.Millisecond; shift < 100*time.Millisecond; shift += time.Millisecond {
			w.wantStatus(w.get("/"), 200)
			time.Sleep(idleAfter + shift)
		}
		if _, sleeps := w.app.counts(); sleeps == 0 {
			t.Error("it never fell asleep")
		}
	})
}

// field case 20: an awake group is served without a call to anybody.
func TestGate_readyGroup_callsNobody(t *testing.T) {
	inWorld(t, setup{awake: true}, func(w *world) {
		w.app.change(func(a *app) { a.fail = errors.New("Nomad is down") })
		for range 100 {
			w.wantStatus(w.get("/"), 200)
		}
		w.wantWakes(1)
	})
}

// field case 4, field case 12: a refused connection sends the request back to wait.
func TestGate_readyTargetRefuses_requestIsHeldAgain(t *testing.T) {
	inWorld(t, setup{awake: true}, func(w *world) {
		w.app.stop() // died by itself; nobody knows yet
		r := w.request("POST", "/", strings.NewReader("once"))
		a := w.do(r)
		w.wantStatus(a, 200)
		w.wantWakes(2)
	})
}

// field case 35: nothing is proxied before the probe says so.
func TestGate_targetListensButIsNotReady_getsNoRequest(t *testing.T) {
	start := time.Now()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case time.Since(start) >= 2*time.Second:
			fmt.Fprint(w, "hello")
		case r.URL.Path == "/healthz":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.Redirect(w, r, "http://elsewhere.example.com/", http.StatusFound)
		}
	})
	s := setup{app: &app{handler: handler}, probe: healthgate.ProbeConfig{Kind: "http", Path: "/healthz"}}
	inWorld(t, s, func(w *world) {
		start = time.Now()
		a := w.get("/")
		w.wantStatus(a, 200)
		if a.took < 2*time.Second {
			t.Errorf("answered after %v, before it was ready", a.took)
		}
	})
}

// field case 25: one deadline, from the request's arrival over falling asleep and waking,
// and the answer names it.
func TestGate_neverReady_answersAtOneDeadline(t *testing.T) {
	s := setup{awake: true, site: api.Site{WakeTimeout: 20 * time.Second},
		app: &app{sleep: sleepFor(15 * time.Second)}}
	inWorld(t, s, func(w *world) {
		time.Sleep(idleAfter)
		w.wantState(idle.Sleeping)
		w.app.change(func(a *app) { a.never = true })
		a := w.get("/")
		w.wantStatus(a, 503)
		if a.took < 20*time.Second || a.took > 20*time.Second+deadlineGrace {
			t.Errorf("took %v, want the deadline of 20s", a.took)
		}
		w.mustContain(a.body, "20 seconds")
		w.wantRetry(a)
	})
}

// wantRetry wants a Retry-After of whole seconds above 0 and no caching.
func (w *world) wantRetry(a answer) {
	w.t.Helper()
	if n, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || n < 1 {
		w.t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
	}
	if c := a.Header.Get("Cache-Control"); c != "no-store" {
		w.t.Errorf("Cache-Control is %q", c)
	}
}

// field case 9, field case 18: a failed wake is cached, and its reason is not for clients.
func TestGate_failedWake_isCachedWithoutReason(t *testing.T) {
	inWorld(t, setup{app: &app{fail: errors.New("secret-image can't be pulled")}}, func(w *world) {
		for range 20 {
			a := w.get("/")
			w.wantStatus(a, 503)
			w.wantRetry(a)
			if strings.Contains(fmt.Sprint(a.body, a.Header), "secret-image") {
				t.Fatalf("the client is told the reason: %q %v", a.body, a.Header)
			}
		}
		w.wantWakes(1)
		w.mustContain(w.group.Status().Err, "secret-image")
	})
}

func TestGate_unknownHost_saysNoNames(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		r := w.request("GET", "/", nil)
		r.Host = "other.example.com"
		a := w.do(r)
		w.wantStatus(a, 404)
		if strings.Contains(a.body, "example") || strings.Contains(a.body, "shop") {
			t.Errorf("the answer names names: %q", a.body)
		}
		w.wantState(idle.Asleep)
	})
}

func TestGate_groupRemovedWhileHeld_answers503(t *testing.T) {
	inWorld(t, setup{app: &app{never: true}}, func(w *world) {
		time.AfterFunc(time.Second, func() { w.loop.Remove(w.group.ID()) })
		a := w.get("/")
		w.wantStatus(a, 503)
		w.wantRetry(a)
	})
}

func TestGate_RefuseHeld_answersWhatIsHeld(t *testing.T) {
	inWorld(t, setup{app: &app{never: true}}, func(w *world) {
		time.AfterFunc(time.Second, w.gate.RefuseHeld)
		a := w.get("/")
		w.wantStatus(a, 503)
		w.wantRetry(a)
		if !a.Close {
			t.Error("the connection is kept")
		}
	})
}

func TestNewGate_badConfig_isRefused(t *testing.T) {
	if _, err := api.NewGate(api.GateConfig{}); err == nil {
		t.Error("no routes: no error")
	}
	if _, err := api.NewGate(api.GateConfig{Routes: api.NewRoutes(), MaxHeld: -1}); err == nil {
		t.Error("negative MaxHeld: no error")
	}
}

// A world that stays as it is costs nothing: everything blocks, so the bubble's clock jumps.
func TestGate_asleep_hasNoTimer(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		synctest.Wait()
		w.wantState(idle.Asleep)
		if n := w.net.dialled(appAddr); n != 0 {
			t.Errorf("a sleeping group was probed %d times", n)
		}
	})
}
