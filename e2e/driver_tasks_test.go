//go:build e2e

package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// testTasksVerb: on the node itself `doze tasks` tells what sleeps, and orders it about, without
// Nomad.
func testTasksVerb(t *testing.T, d *driven) {
	d.run(drivenJob{id: "ordered", config: map[string]any{"listen": "http", "freeze_after": ""}})
	alloc := d.alloc("ordered").ID
	d.mustGet("ordered", "/")
	for _, step := range []struct {
		order string
		depth depth
		tells string
	}{{"freeze", frozen, "frozen"}, {"wake", awake, "ready"}, {"park", parked, "parked"}} {
		d.tasks(step.order, alloc[:13])
		d.awaitDepth("ordered", step.depth)
		line := ""
		for l := range strings.Lines(d.tasks()) {
			if strings.HasPrefix(l, alloc+"/app") {
				line = l
			}
		}
		if !strings.Contains(line, step.tells) || !strings.Contains(line, d.addr("ordered")) {
			t.Errorf("after %s it tells %q", step.order, line)
		}
	}
	d.mustGet("ordered", "/")
}

// tasks runs `doze tasks`.
func (d *driven) tasks(args ...string) string {
	d.t.Helper()
	args = append([]string{"tasks", "-state-dir", d.state}, args...)
	out, err := exec.Command(binary, args...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("doze %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
