package api

import (
	"github.com/prometheus/client_golang/prometheus"

	"doze/idle"
)

// groupStates counts groups by state when it is scraped.
type groupStates struct {
	list func() []*idle.Group
	desc *prometheus.Desc
}

var states = []idle.State{
	idle.Asleep, idle.Waking, idle.Ready, idle.Draining, idle.Sleeping, idle.Failed,
}

// stateLabel is the state's name in metrics.
func stateLabel(s idle.State) string {
	switch s {
	case idle.Asleep:
		return "asleep"
	case idle.Waking:
		return "waking"
	case idle.Ready:
		return "ready"
	case idle.Draining:
		return "draining"
	case idle.Sleeping:
		return "sleeping"
	}
	return "failed"
}

func (g groupStates) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

func (g groupStates) Collect(ch chan<- prometheus.Metric) {
	counts := map[idle.State]int{}
	for _, group := range g.list() {
		counts[group.Status().State]++
	}
	for _, s := range states {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue,
			float64(counts[s]), stateLabel(s))
	}
}
