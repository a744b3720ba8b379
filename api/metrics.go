package api

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doze/healthgate"
	"doze/idle"
)

// outcome is how a request left the gate; it is the label of doze_gate_requests_total.
type outcome int

const (
	servedReady  outcome = iota // forwarded at once: the group was ready
	servedHeld                  // forwarded after it was held
	gavePage                    // got the waiting page
	gaveReject                  // turned away by waiting = "reject"
	gaveShed                    // over a bound
	gaveLate                    // its deadline came
	gaveFailed                  // a failed wake was cached
	gaveIgnored                 // answered or passed on without a lease
	gaveUnknown                 // no such host, or no valid one
	clientLeft                  // left before its answer began
	upstreamBad                 // the target broke off before it answered
	brokeOff                    // the target or the client broke off midway
	gaveShutdown                // the group or the process went away under it
	outcomes
)

var outcomeNames = [outcomes]string{
	"ready", "held", "page", "reject", "shed", "late", "failed", "ignored", "unknown",
	"left", "broken", "cut", "shutdown",
}

// wakeBuckets reach from a thaw to a slow image pull, in seconds.
var wakeBuckets = []float64{
	.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120,
}

// Metrics are the Prometheus collectors of the gate and of the lifecycle. No metric has a
// label per group: there may be a hundred thousand of them.
//
//	doze_gate_requests_total{outcome}   requests by how they left the gate
//	doze_gate_held                      requests held right now
//	doze_gate_hold_seconds              how long requests were held, however it ended
//	doze_gate_cold_start_seconds        held requests: from arrival to the answer's head
//	doze_gate_refused_dials_total       connections a target refused; the request was held again
//	doze_wakes_total{result}            wakes that ended: ready, failed
//	doze_wake_seconds{phase}            successful wakes: place, boot, probe, total
//	doze_transitions_total{to}          changes of state
//	doze_groups{state}                  managed groups, once Groups was called
//	doze_gate_generations_total{result} health gate: started, healthy, failed_open, aborted
//	doze_probe_errors_total             probes that died themselves
type Metrics struct {
	reg         prometheus.Registerer
	requests    [outcomes]prometheus.Counter
	held        prometheus.Gauge
	hold        prometheus.Histogram
	coldStart   prometheus.Histogram
	refused     prometheus.Counter
	wakes       *prometheus.CounterVec
	phases      *prometheus.HistogramVec
	transitions *prometheus.CounterVec
}

// NewMetrics registers the collectors with reg; nil leaves them unregistered. Like
// prometheus.MustRegister it panics when reg has them already.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	if reg == nil {
		reg = prometheus.NewRegistry()
	}
	m := &Metrics{
		reg:  reg,
		held: newGauge("gate_held", "Requests held right now."),
		hold: newWakeHistogram("gate_hold_seconds", "How long requests were held."),
		coldStart: newWakeHistogram("gate_cold_start_seconds",
			"From a held request's arrival to its answer's head."),
		refused: newCounter("gate_refused_dials_total", "Connections that a target refused."),
		wakes:   newCounterVec("wakes_total", "Wakes that ended.", "result"),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "doze",
			Name: "wake_seconds", Help: "Where the time of successful wakes went.",
			Buckets: wakeBuckets}, []string{"phase"}),
		transitions: newCounterVec("transitions_total", "Changes of state.", "to"),
	}
	requests := newCounterVec("gate_requests_total", "Requests by how they left the gate.",
		"outcome")
	for i, name := range outcomeNames {
		m.requests[i] = requests.WithLabelValues(name)
	}
	reg.MustRegister(requests, m.held, m.hold, m.coldStart, m.refused, m.wakes, m.phases,
		m.transitions)
	return m
}

func newCounter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(
		prometheus.CounterOpts{Namespace: "doze", Name: name, Help: help})
}

func newCounterVec(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(
		prometheus.CounterOpts{Namespace: "doze", Name: name, Help: help}, []string{label})
}

func newGauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "doze", Name: name, Help: help})
}

func newWakeHistogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: "doze", Name: name, Help: help, Buckets: wakeBuckets})
}

// Transition counts one change of state; it may serve as idle.Config.OnTransition.
func (m *Metrics) Transition(t idle.Transition) {
	m.transitions.WithLabelValues(t.To.String()).Inc()
	if t.Wake == nil {
		return
	}
	if t.Wake.Err != "" || t.Wake.Ready.IsZero() {
		m.wakes.WithLabelValues("failed").Inc()
		return
	}
	m.wakes.WithLabelValues("ready").Inc()
	m.phase("total", t.Wake.Started, t.Wake.Ready)
	m.phase("place", t.Wake.Started, t.Wake.Placed)
	m.phase("boot", t.Wake.Placed, t.Wake.Booted)
	m.phase("probe", t.Wake.Booted, t.Wake.Ready)
}

func (m *Metrics) phase(name string, from, to time.Time) {
	if !from.IsZero() && !to.IsZero() {
		m.phases.WithLabelValues(name).Observe(to.Sub(from).Seconds())
	}
}

// Groups has the managed groups counted by state at every scrape.
func (m *Metrics) Groups(list func() []*idle.Group) {
	m.reg.MustRegister(groupStates{list: list, desc: prometheus.NewDesc(
		"doze_groups", "Managed groups.", []string{"state"}, nil)})
}

// Counters has the health gates' counters exported.
func (m *Metrics) Counters(c *healthgate.Counters) {
	for result, count := range map[string]func() uint64{
		"started": c.Started.Load, "healthy": c.Healthy.Load,
		"failed_open": c.FailedOpen.Load, "aborted": c.Aborted.Load,
	} {
		m.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "doze",
			Name: "gate_generations_total", Help: "Generations of the health gates.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(count()) }))
	}
	m.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "doze",
		Name: "probe_errors_total", Help: "Probes that died themselves.",
	}, func() float64 { return float64(c.Error.Load()) }))
}
