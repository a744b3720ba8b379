//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// userTicks is how many clock ticks of proc(5) are a second, on every machine that Go runs on.
const userTicks = 100

// toil takes a third of a processor for good.
func toil(http.ResponseWriter, *http.Request) {
	go func() {
		for {
			for until := time.Now().Add(10 * time.Millisecond); time.Now().Before(until); {
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
}

// testCPUUsage: of a task that works Nomad is told the share of a processor that the kernel
// counts for its process. Both are of about the same second only, so a machine busy with other
// things gets more than one try.
func testCPUUsage(t *testing.T, d *driven) {
	d.run(drivenJob{id: "busy", config: map[string]any{"listen": "http", "freeze_after": ""}})
	d.mustGet("busy", "/toil")
	pid := processesOf(t, d.alloc("busy").ID)[0]
	last := d.usageAfter("busy", 0)
	spent := processorTime(t, pid)
	d.await("the processor time that is told to be what the kernel counts", func() error {
		now := d.usageAfter("busy", last.Timestamp)
		passed, before := time.Duration(now.Timestamp-last.Timestamp), spent
		last, spent = now, processorTime(t, pid)
		counted := 100 * float64(spent-before) / float64(passed)
		cpu := now.ResourceUsage.CpuStats
		told, parts := cpu.Percent, cpu.UserMode+cpu.SystemMode
		if counted < 1 || told < counted/2 || told > 2*counted || parts < told/2 || parts > 2*told {
			return fmt.Errorf("they tell of %.1f %%, of user and system %.1f %%; it took %.1f %%",
				told, parts, counted)
		}
		t.Logf("told of %.1f %% of a processor, counted %.1f %%", told, counted)
		return nil
	})
}

// usageAfter waits for the first usage of a job's task that is younger.
func (d *driven) usageAfter(job string, timestamp int64) *nomad.TaskResourceUsage {
	d.t.Helper()
	var usage *nomad.TaskResourceUsage
	d.await("stats of "+job, func() error {
		stats, err := d.client.Allocations().Stats(d.alloc(job), d.query())
		if err != nil {
			return err
		}
		usage = stats.Tasks["app"]
		if usage == nil || usage.Timestamp <= timestamp {
			return errors.New("there are none since")
		}
		return nil
	})
	return usage
}

// processorTime is what a process has used since it began (proc_pid_stat(5): utime, stime).
func processorTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fail(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from state on
	ticks := 0
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		fail(t, err)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / userTicks
}
