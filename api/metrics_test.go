package api_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doze/api"
	"doze/healthgate"
	"doze/idle"
)

// scrape returns every sample as "name{label value}" → value; of histograms, the count.
func scrape(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var name strings.Builder
			name.WriteString(f.GetName())
			for _, l := range m.Label {
				name.WriteString(fmt.Sprintf("{%s %s}", l.GetName(), l.GetValue()))
			}
			switch {
			case m.Counter != nil:
				samples[name.String()] = m.Counter.GetValue()
			case m.Gauge != nil:
				samples[name.String()] = m.Gauge.GetValue()
			case m.Histogram != nil:
				samples[name.String()] = float64(m.Histogram.GetSampleCount())
			}
		}
	}
	return samples
}

func TestMetrics_requests_areCountedByOutcome(t *testing.T) {
	for _, awake := range []bool{false, true} {
		reg := prometheus.NewRegistry()
		s := setup{gate: api.GateConfig{Metrics: api.NewMetrics(reg)}, awake: awake}
		inWorldServed(t, s, func(g *api.Gate) server { return g.Front() }, func(w *world) {
			w.get("/")
			r := w.request("GET", "/", nil)
			r.Host = "unknown.example.com"
			w.do(r)
		})
		want := map[string]float64{
			"doze_gate_requests_total{outcome unknown}": 1, "doze_gate_held": 0,
			"doze_gate_requests_total{outcome held}": 1, "doze_gate_hold_seconds": 1,
			"doze_gate_cold_start_seconds": 1, "doze_gate_requests_total{outcome ready}": 0,
		}
		if awake {
			want["doze_gate_requests_total{outcome held}"] = 0
			want["doze_gate_requests_total{outcome ready}"] = 1
			want["doze_gate_hold_seconds"], want["doze_gate_cold_start_seconds"] = 0, 0
		}
		got := scrape(t, reg)
		for name, value := range want {
			if v, ok := got[name]; !ok || v != value {
				t.Errorf("awake %v: %s is %v, want %v", awake, name, v, value)
			}
		}
	}
}

// An answer that breaks off midway has left the gate as well.
func TestMetrics_answersThatBreakOff_areCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	s := setup{gate: api.GateConfig{Metrics: api.NewMetrics(reg)}, app: &app{handler: handler}, awake: true}
	inWorldServed(t, s, func(g *api.Gate) server { return g.Front() }, func(w *world) {
		w.exchangeRaw("GET / HTTP/1.1\r\nHost: " + appHost + "\r\n\r\n") // by the server
		w.exchangeRaw("GET / HTTP/1.1\r\nHost: " + appHost + "\r\n\r\n") // by the front
	})
	if n := scrape(t, reg)["doze_gate_requests_total{outcome cut}"]; n != 2 {
		t.Errorf("%v answers were counted, want 2", n)
	}
}

func TestMetrics_brokenTarget_isCountedOnce(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := setup{gate: api.GateConfig{Metrics: api.NewMetrics(reg)},
		app: &app{handler: rawApp("hello\r\n\r\n")}, awake: true}
	inWorldServed(t, s, func(g *api.Gate) server { return g.Front() }, func(w *world) {
		w.wantStatus(w.get("/"), 502)
	})
	total := 0.0
	for name, n := range scrape(t, reg) {
		if strings.HasPrefix(name, "doze_gate_requests_total") {
			total += n
		}
	}
	if total != 1 {
		t.Errorf("%v requests were counted, want 1", total)
	}
}

func TestMetrics_lifecycle(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := api.NewMetrics(reg)
	var counters healthgate.Counters
	m.Counters(&counters)
	counters.FailedOpen.Add(2)
	tab := newTable()
	tab.site(t, "one", 1)
	m.Groups(tab.loop.Groups)
	start := time.Now()
	m.Transition(idle.Transition{To: idle.Ready, Wake: &idle.Wake{Started: start,
		Placed: start.Add(time.Second), Ready: start.Add(2 * time.Second)}})
	m.Transition(idle.Transition{To: idle.Failed, Wake: &idle.Wake{Started: start, Err: "no memory"}})
	m.Transition(idle.Transition{To: idle.Draining})
	got := scrape(t, reg)
	for name, value := range map[string]float64{
		"doze_wakes_total{result ready}": 1, "doze_wakes_total{result failed}": 1,
		"doze_wake_seconds{phase total}": 1, "doze_wake_seconds{phase place}": 1,
		"doze_transitions_total{to draining}": 1, "doze_groups{state asleep}": 1,
		"doze_groups{state ready}": 0, "doze_gate_generations_total{result failed_open}": 2,
		"doze_probe_errors_total": 0,
	} {
		if v, ok := got[name]; !ok || v != value {
			t.Errorf("%s is %v, want %v", name, v, value)
		}
	}
	if _, ok := got["doze_wake_seconds{phase boot}"]; ok {
		t.Error("a phase that was not seen was measured")
	}
}

// The kill switch admits to any target there is, ready or not.
func TestGate_off_admitsToAnyTarget(t *testing.T) {
	s := setup{gate: api.GateConfig{Off: true}, app: &app{bootTime: time.Second},
		probe: healthgate.ProbeConfig{Kind: "http", Statuses: "299"}, off: true}
	inWorld(t, s, func(w *world) { w.wantStatus(w.get("/"), 200) })
}

func TestGate_CONNECT_isNotServed(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		r := w.request("CONNECT", "/", nil)
		a := w.do(r)
		w.wantStatus(a, 405)
		w.wantState(idle.Asleep)
	})
}

// field case 9: the reason is the operator's.
func TestGate_lateTargetOfFailedWake_isUsed(t *testing.T) {
	s := setup{policy: idle.Policy{WakeTimeout: 5 * time.Second}, app: &app{bootTime: 8 * time.Second}}
	inWorld(t, s, func(w *world) {
		w.wantStatus(w.get("/"), 503)
		if w.group.Status().Err == "" {
			t.Error("no reason is kept")
		}
		time.Sleep(5 * time.Second)
		w.wantStatus(w.get("/"), 200)
		w.wantWakes(1)
	})
}

// docs/metrics.md has each metric, with each value of its label, and no others.
func TestMetrics_docsPage_namesThemAll(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	m := api.NewMetrics(reg)
	m.Counters(new(healthgate.Counters))
	m.Groups(newTable().loop.Groups)
	start := time.Now()
	m.Transition(idle.Transition{To: idle.Ready, Wake: &idle.Wake{Started: start, Placed: start,
		Booted: start, Ready: start}})
	m.Transition(idle.Transition{To: idle.Failed, Wake: &idle.Wake{Err: "no memory"}})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.Contains(string(page), "\n| `"+f.GetName()+"` | ") {
			t.Errorf("it lacks %s", f.GetName())
		}
		for _, sample := range f.Metric {
			for _, l := range sample.Label {
				if l.GetName() != "to" && l.GetName() != "state" && // of the lifecycle: linked there
					!strings.Contains(string(page), "`"+l.GetValue()+"`") {
					t.Errorf("it lacks the %s %s of %s", l.GetName(), l.GetValue(), f.GetName())
				}
			}
		}
	}
	if rows := strings.Count(string(page), "\n| `doze_"); rows != len(families) {
		t.Errorf("it has %d metrics, of %d", rows, len(families))
	}
}
