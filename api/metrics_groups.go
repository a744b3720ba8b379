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

func (g groupStates) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

func (g groupStates) Collect(ch chan<- prometheus.Metric) {
	counts := map[idle.State]int{}
	for _, group := range g.list() {
		counts[group.Status().State]++
	}
	for _, s := range idle.States() {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue,
			float64(counts[s]), s.String())
	}
}
