package jobs

import (
	"testing"

	nomad "github.com/hashicorp/nomad/api"
)

// What an open source, one-node cluster never answers: quotas, classes, several reasons.
func TestPlacementWords_everyReason_isNamed(t *testing.T) {
	for name, test := range map[string]struct {
		metric nomad.AllocationMetric
		want   string
	}{
		"quota": {nomad.AllocationMetric{QuotaExhausted: []string{"memory exhausted (5 > 4)"}},
			"quota exhausted: memory exhausted (5 > 4)"},
		"dimensions and constraint": {nomad.AllocationMetric{
			NodesEvaluated:     4,
			DimensionExhausted: map[string]int{"memory": 2, "cpu": 1},
			ConstraintFiltered: map[string]int{"missing drivers": 1},
		}, `cpu exhausted on 1 node; memory exhausted on 2 nodes; ` +
			`constraint "missing drivers" rules out 1 node; no other node has the driver of each ` +
			"task healthy: see `nomad node status -verbose NODE`"},
		"another constraint": {nomad.AllocationMetric{
			ConstraintFiltered: map[string]int{"${attr.kernel.name} = plan9": 2},
		}, `constraint "${attr.kernel.name} = plan9" rules out 2 nodes`},
		"class": {nomad.AllocationMetric{ClassFiltered: map[string]int{"gpu": 3}},
			`node class "gpu" rules out 3 nodes`},
		"no nodes": {nomad.AllocationMetric{NodesAvailable: map[string]int{"dc1": 0}},
			"no node is eligible in dc1"},
		"nothing known": {nomad.AllocationMetric{}, "no node is eligible"},
		"none fits":     {nomad.AllocationMetric{NodesEvaluated: 2}, "2 nodes looked at, none fits"},
	} {
		if got := placementWords(&test.metric); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
