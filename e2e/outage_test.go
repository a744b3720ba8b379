//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"doze/api/wire"
	"doze/internal/realnomad"
)

// outageFor is how long Nomad is away.
const outageFor = time.Minute

// field case 20: Nomad away for a minute. Awake groups serve on, sleeping ones answer 503
// with Retry-After, all recovers by itself, and nothing loops busily meanwhile.
func TestOutage_nomadAwayForAMinute_awakeServesAsleepRecovers(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) { outage(t, embedded(t)) })
	t.Run("nomad", func(t *testing.T) {
		realnomad.Shared(t, realnomad.Config{}) // skips where there is none
		agent, err := realnomad.Start(realnomad.Config{})
		fail(t, err)
		t.Cleanup(func() { fail(t, agent.Close()) })
		outage(t, inNamespace(t, agent))
	})
}

func outage(t *testing.T, c *cluster) {
	c.register(t, jobSpec{id: "awake", app: "web", idleAfter: 10 * time.Minute, count: 1})
	c.register(t, jobSpec{id: "asleep", app: "web"})
	d := startDoze(t, c)
	d.mustGet("awake.localhost", "/")
	d.waitState("asleep", wire.Asleep)
	back := c.outage(t)
	began, busy := time.Now(), cpuTime(t, d.cmd.Process.Pid)
	refused := 0
	for time.Since(began) < outageFor {
		if got, err := d.get("awake.localhost", "/"); err != nil || got.status != http.StatusOK {
			t.Fatalf("awake, %s into the outage: status %d, error %v",
				time.Since(began), got.status, err)
		}
		got, err := d.get("asleep.localhost", "/")
		if err != nil || got.status != http.StatusServiceUnavailable ||
			got.header.Get("Retry-After") == "" {
			t.Fatalf("asleep, %s into the outage: status %d, Retry-After %q, error %v",
				time.Since(began), got.status, got.header.Get("Retry-After"), err)
		}
		refused++
		time.Sleep(2 * time.Second) // a client that asks now and then
	}
	if used := cpuTime(t, d.cmd.Process.Pid) - busy; used > outageFor/20 {
		t.Errorf("doze used %s of processor time in %s without Nomad", used, outageFor)
	}
	back()
	d.waitFor("the sleeping group to be answered again", func() bool {
		got, err := d.get("asleep.localhost", "/")
		return err == nil && got.status == http.StatusOK
	})
	d.mustGet("awake.localhost", "/")
}

// cpuTime is what a process has used so far (proc(5), stat: utime and stime in ticks of
// 10 ms).
func cpuTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fail(t, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, err := strconv.Atoi(fields[11])
	fail(t, err)
	system, err := strconv.Atoi(fields[12])
	fail(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}
