//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"doze/api/wire"
)

// The main job: a request wakes a sleeping group and is answered; without requests it
// falls asleep again; `doze status` tells of it.
func TestWake_requestToSleepingGroup_isAnsweredAndSleepsAgain(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "wake", app: "web"})
		d := startDoze(t, c)
		d.waitState("wake", wire.Asleep)
		first := d.mustGet("wake.localhost", "/")
		if !strings.Contains(first.header.Get("Server-Timing"), "place") {
			t.Errorf("the woken answer's Server-Timing is %q", first.header.Get("Server-Timing"))
		}
		if c.count(t, "wake", "web") != 1 {
			t.Errorf("the count is %d after a wake, not 1", c.count(t, "wake", "web"))
		}
		if again := d.mustGet("wake.localhost", "/"); again.body != first.body {
			t.Errorf("a second request went to %s, the first to %s", again.body, first.body)
		}
		d.waitState("wake", wire.Asleep)
		if c.count(t, "wake", "web") != 0 {
			t.Errorf("the count is %d asleep, not 0", c.count(t, "wake", "web"))
		}
		out, err := d.cli("status")
		if err != nil || !strings.Contains(out, "/wake/web") || !strings.Contains(out, "asleep") {
			t.Errorf("doze status says (%v):\n%s", err, out)
		}
	})
}
