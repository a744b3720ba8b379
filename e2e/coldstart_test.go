//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"doze/api/wire"
)

// A cold start costs at most 10 ms more than the app itself needs until its port is open;
// nothing waits for Nomad's "running". Printed: the median over ten wakes.
func TestColdStart_request_isAnsweredRightAfterThePortOpens(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "cold", app: "web"})
		d := startDoze(t, c)
		var totals, overheads []time.Duration
		for range 10 {
			d.waitState("cold", wire.Asleep)
			began := time.Now()
			got := d.mustGet("cold.localhost", "/")
			opened := openedAt(t, got)
			totals = append(totals, got.at.Sub(began))
			overheads = append(overheads, got.at.Sub(opened))
			if status := d.command("POST", d.id("cold").SleepPath()); status >= 300 {
				t.Fatalf("putting the group to sleep answers %d", status)
			}
		}
		total, overhead := median(totals), median(overheads)
		fmt.Printf("cold start (%s): request to answer %s, of which %s after the port opened\n",
			t.Name(), total.Round(100*time.Microsecond), overhead.Round(100*time.Microsecond))
		if overhead > 10*time.Millisecond {
			t.Errorf("the answer came %s after the port had opened: %v", overhead, overheads)
		}
	})
}

// openedAt is when the answering app's port was opened.
func openedAt(t *testing.T, got answer) time.Time {
	t.Helper()
	nanos, err := strconv.ParseInt(got.header.Get("X-Opened"), 10, 64)
	fail(t, err)
	return time.Unix(0, nanos)
}

func median(ds []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(ds))
	return sorted[len(sorted)/2]
}
