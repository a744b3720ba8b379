//go:build e2e

package e2e

import (
	"testing"
	"time"
)

const (
	thaws = 50
	// mostOfAThaw is a guard, not the goal: that is 1.5 ms, which the benchmark measures. A wake
	// that waited for some clock would be slower.
	mostOfAThaw = 25 * time.Millisecond
)

// testThaws: at the median a connection to a frozen task has its answer soon; that of a task
// that never sleeps, asked by turns, is what the machine needs anyway.
func testThaws(t *testing.T, d *driven) {
	for _, activation := range []string{"relay", "socket"} {
		config := map[string]any{"listen": "http", "activation": activation, "freeze_after": ""}
		asleep, awake := "thaws-"+activation, "stays-"+activation
		for _, job := range []string{asleep, awake} {
			d.run(drivenJob{id: job, config: config})
			d.whoAnswers(job)
		}
		nap, stay := d.addr(asleep), d.addr(awake)
		var thawed, answered []time.Duration
		for range thaws {
			d.sleep(asleep, "SIGSTOP", frozen)
			thawed = append(thawed, firstByte(t, nap, true))
			answered = append(answered, firstByte(t, stay, true))
		}
		t.Logf("%s: connection → first byte %s, of one that does not sleep %s", activation,
			median(thawed), median(answered))
		if took := median(thawed) - median(answered); took > mostOfAThaw {
			t.Errorf("%s: a thaw takes %s", activation, took)
		}
	}
}
