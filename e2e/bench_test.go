//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"doze/api/wire"
)

// BenchmarkWake_embedded prints what one wake costs beyond the app's own start, on the
// embedded cluster: from the port's opening to the answer, and from the request to the
// placement.
func BenchmarkWake_embedded(b *testing.B) {
	c := embedded(b)
	c.register(b, jobSpec{id: "wake", app: "web"})
	d := startDoze(b, c)
	var overheads, totals []time.Duration
	for b.Loop() {
		for range 50 {
			d.waitState("wake", wire.Asleep)
			began := time.Now()
			got := d.mustGet("wake.localhost", "/")
			nanos, err := strconv.ParseInt(got.header.Get("X-Opened"), 10, 64)
			fail(b, err)
			totals = append(totals, got.at.Sub(began))
			overheads = append(overheads, got.at.Sub(time.Unix(0, nanos)))
			d.command("POST", d.id("wake").SleepPath())
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(median(totals)), "ms/wake-p50")
	b.ReportMetric(milliseconds(median(overheads)), "ms/after-port-p50")
}

// BenchmarkServe_sleepingGroups prints what many sleeping groups cost `doze serve`: memory
// in all and by group, the time to look at all of them at start, and processor time at
// rest. DOZE_BENCH_GROUPS is how many; default 10000, the design's figure is for 100000.
func BenchmarkServe_sleepingGroups(b *testing.B) {
	groups := 10_000
	if n, err := strconv.Atoi(os.Getenv("DOZE_BENCH_GROUPS")); err == nil {
		groups = n
	}
	c := embedded(b)
	baseline := startDoze(b, c)
	empty, _ := baseline.rss()
	baseline.cleanUp()
	registerMany(b, c, groups)
	for b.Loop() {
		d := newDoze(b, c)
		d.within = 5 * time.Minute // one read a job, and the cluster shares the machine
		began := time.Now()
		d.start("-log-level", "info")
		b.ReportMetric(time.Since(began).Seconds(), "s/start")
		time.Sleep(3 * time.Second) // the start's garbage is still being collected
		settle := time.Now()
		before := cpuTime(b, d.cmd.Process.Pid)
		time.Sleep(10 * time.Second) // what it costs at rest is what is measured
		used := cpuTime(b, d.cmd.Process.Pid) - before
		now, peak := d.rss()
		b.ReportMetric(100*used.Seconds()/time.Since(settle).Seconds(), "%cpu-at-rest")
		b.ReportMetric(float64(now)/(1<<20), "MiB/rss")
		b.ReportMetric(float64(peak)/(1<<20), "MiB/peak")
		b.ReportMetric(float64(now-empty)/float64(groups), "B/group")
		d.cleanUp()
	}
	b.ReportMetric(0, "ns/op")
}

func registerMany(b *testing.B, c *cluster, n int) {
	b.Helper()
	ids := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range ids {
				job := c.job(b, jobSpec{id: fmt.Sprintf("sleeper-%06d", i), app: "web"})
				if _, _, err := c.client.Jobs().Register(job, c.write()); err != nil {
					b.Errorf("cannot register: %v", err)
				}
			}
		})
	}
	for i := range n {
		ids <- i
	}
	close(ids)
	workers.Wait()
}

// BenchmarkProbe_startUp compares `doze probe` with curl as whole processes, one after the
// other, against one listening app.
func BenchmarkProbe_startUp(b *testing.B) {
	c := embedded(b)
	c.register(b, jobSpec{id: "target", app: "web", count: 1})
	d := startDoze(b, c)
	d.mustGet("target.localhost", "/")
	group, _ := d.group("target")
	url := "http://" + group.Targets[0].Addr + "/"
	var probes, curls []time.Duration
	for b.Loop() {
		for range 30 {
			probes = append(probes, runTime(b, binary, "probe", url))
			curls = append(curls, runTime(b, "curl", "-s", "-o", "/dev/null", url))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(median(probes)), "ms/doze-probe-p50")
	b.ReportMetric(milliseconds(median(curls)), "ms/curl-p50")
}

func runTime(b *testing.B, name string, args ...string) time.Duration {
	b.Helper()
	if _, err := exec.LookPath(name); err != nil {
		return 0
	}
	began := time.Now()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", name, err, out)
	}
	return time.Since(began)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
