//go:build e2e

package e2e

import (
	"testing"

	nomad "github.com/hashicorp/nomad/api"

	"doze/api/wire"
)

// testServe: both halves on one job. The task freezes in place behind the gate, which goes on
// taking it for ready and thaws it by its next request; a longer idleness takes the count to
// 0, and a request back.
func testServe(t *testing.T, d *driven) {
	d.register(drivenJob{id: "both", edit: scaled, config: map[string]any{"listen": "http",
		"freeze_after": "500ms", "shield": []string{"/healthz"}}})
	gate := startDoze(t, d.cluster)
	first := gate.mustGet("both.localhost", "/").body
	for range 2 {
		d.awaitDepth("both", frozen)
		if group, ok := gate.group("both"); !ok || group.State != wire.Ready {
			t.Errorf("over the frozen task the group is %s", group.State)
		}
		got := gate.mustGet("both.localhost", "/")
		t.Logf("the frozen task answers through the gate after %s", got.took)
		if got.body != first {
			t.Errorf("%q answers after a thaw, not %q", got.body, first)
		}
	}
	alloc := d.alloc("both").ID
	gate.waitState("both", wire.Asleep)
	if count := d.count(t, "both", "web"); count != 0 {
		t.Errorf("the count of the sleeping group is %d", count)
	}
	d.await("every process to end", func() error { return noneOf(processesOf(t, alloc)) })
	d.awaitEvent("both", "Terminated: Exit Code: 0")

	if again := gate.mustGet("both.localhost", "/").body; again == first {
		t.Errorf("%q answers after the count was 0", again)
	}
	if d.alloc("both").ID == alloc || d.count(t, "both", "web") != 1 {
		t.Errorf("the woken group is allocation %s, its count %d", alloc, d.count(t, "both", "web"))
	}
	d.awaitDepth("both", frozen)
	d.awaitEvent("both", "frozen")
}

// scaled has `doze serve` manage the group too; its probe is of a path that the driver
// shields, so that it keeps nobody awake.
func scaled(job *nomad.Job) {
	job.TaskGroups[0].Scaling = &nomad.ScalingPolicy{
		Enabled: new(true), Min: new(int64(0)), Max: new(int64(1)),
		Policy: map[string]any{"doze": []map[string]any{{
			"idle_after": "8s",
			"route":      []map[string]any{{"hosts": []string{*job.ID + ".localhost"}}},
			"probe": []map[string]any{{"http": []map[string]any{{
				"path": "/healthz", "interval": "200ms"}}}},
		}}},
	}
}
