//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// mostBeside is the most that a task may take beside its application, in MiB of proportional
// set size (PSS): pages that it shares with others count in part. mostBesideMore is that where
// the kernel (before 6.7, or without userfaultfd) maps sixteen pages of the program where one is
// touched: at most 10.3 MiB were seen there.
const (
	mostBeside     = 8.0
	mostBesideMore = 12.0
)

// A task's shepherd is small on the embedded cluster too, which every machine has.
func TestDriver_shepherdOnTheEmbeddedCluster_isSmall(t *testing.T) {
	t.Parallel()
	d := startEmbeddedDriven(t)
	testMemory(t, d.driven)
}

// Nor is it large with all that it can have to do; an agent that has no other task, so that
// nobody but the plugin has pages of the program in memory too.
func TestDriver_shepherdWithEverythingAtOnce_isSmall(t *testing.T) {
	t.Parallel()
	testHeavyMemory(t, startDriven(t))
}

// testMemory: a shepherd never takes more than it may, whatever its task does and did before.
func testMemory(t *testing.T, d *driven) {
	const job = "light"
	d.run(drivenJob{id: job, config: map[string]any{"listen": "http"}})
	s := newScales(t, shepherdOf(t, processesOf(t, d.alloc(job).ID)[0]))
	alone := func() { time.Sleep(leanAfter) } // what happens meanwhile is the subject
	s.weigh("just started", func() { d.mustGet(job, "/") })
	s.weigh("awake and alone", alone)
	s.weigh("with 32 connections", func() { crowd(t, d.addr(job), 32) })
	s.weigh("just frozen", func() { d.sleep(job, "SIGSTOP", frozen) })
	s.weigh("frozen and alone", alone)
	s.weigh("just thawed", func() { d.mustGet(job, "/") })
	s.weigh("just parked", func() { d.sleep(job, "SIGTSTP", parked) })
	s.weigh("parked and alone", alone)
	s.weigh("just started again", func() { d.mustGet(job, "/") })
}

// testHeavyMemory: a probe that speaks HTTP, a shield, logs, commands in the task, connections
// and a freeze, all at once.
func testHeavyMemory(t *testing.T, d *driven) {
	const job = "heavy"
	d.run(drivenJob{id: job, noLogs: true, config: map[string]any{"listen": "http",
		"freeze_after": "", "shield": []string{"/healthz"}, "logs": []map[string]any{{}},
		"probe": []map[string]any{{"http": []map[string]any{{"path": "/", "interval": "100ms"}}}}}})
	d.whoAnswers(job)
	s := newScales(t, shepherdOf(t, processesOf(t, d.alloc(job).ID)[0]))
	atOnce := func() {
		var others sync.WaitGroup
		others.Go(func() { crowd(t, d.addr(job), 32) })
		for range 5 {
			d.exec(job, "/bin/sh", "-c", "echo word")
			d.mustGet(job, "/healthz")
			d.mustGet(job, "/log?line="+strings.Repeat("x", 4<<10))
		}
		others.Wait()
		d.sleep(job, "SIGSTOP", frozen)
		d.mustGet(job, "/healthz")
	}
	s.weigh("everything at once", atOnce)
	s.weigh("frozen, then alone", func() { time.Sleep(leanAfter) })
	s.weigh("everything once more", atOnce)
	s.weigh("exec in a frozen one", func() { d.exec(job, "/bin/sh", "-c", "echo word") })
	s.weigh("parked", func() { d.sleep(job, "SIGTSTP", parked) })
	s.weigh("everything, started anew", atOnce)
}

// crowd keeps n connections open at once, each with a few requests after the other.
func crowd(t testing.TB, addr string, n int) {
	t.Helper()
	var arrived, all sync.WaitGroup
	arrived.Add(n)
	for range n {
		all.Go(func() {
			client := http.Client{Timeout: 10 * time.Second, Transport: new(http.Transport)}
			defer client.CloseIdleConnections()
			err := request(&client, addr)
			arrived.Done()
			arrived.Wait() // all of them are open
			for range 50 {
				if err == nil {
					err = request(&client, addr)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func request(client *http.Client, addr string) error {
	r, err := client.Get("http://" + addr + "/")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

// scales weigh a shepherd. On the embedded cluster, where it is the only one of its program,
// nobody but the plugin has pages of the program in memory too.
type scales struct {
	t    testing.TB
	pid  int
	most float64 // it may weigh, in MiB
}

func newScales(t testing.TB, pid int) *scales {
	t.Helper()
	singly := slices.ContainsFunc(readLines(fmt.Sprintf("/proc/%d/smaps", pid)),
		func(line string) bool { // proc_pid_smaps(5); uw: userfaultfd, write-protect
			return strings.HasPrefix(line, "VmFlags:") && slices.Contains(strings.Fields(line), "uw")
		})
	if !singly {
		t.Logf("this kernel maps more of the program than is used; the bound is %.0f MiB",
			mostBesideMore)
		return &scales{t: t, pid: pid, most: mostBesideMore}
	}
	return &scales{t: t, pid: pid, most: mostBeside}
}

// weigh looks at the shepherd all the time while something happens. What counts is the most.
func (s *scales) weigh(state string, happens func()) {
	s.t.Helper()
	enough := make(chan struct{})
	most := 0.0
	var weighing sync.WaitGroup
	weighing.Go(func() {
		often := time.NewTicker(20 * time.Millisecond)
		defer often.Stop()
		for {
			most = max(most, s.now())
			select {
			case <-enough:
				return
			case <-often.C:
			}
		}
	})
	func() {
		defer weighing.Wait()
		defer close(enough)
		happens()
	}()
	s.t.Logf("%-23s at most %.1f MiB", state, most)
	if most > s.most {
		s.t.Errorf("%s: the shepherd takes %.1f MiB", state, most)
	}
}

// now is what the shepherd weighs, in MiB.
func (s *scales) now() float64 {
	for _, line := range readLines(fmt.Sprintf("/proc/%d/smaps_rollup", s.pid)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "Pss: %f", &kib); n == 1 {
			return kib / 1024
		}
	}
	s.t.Errorf("shepherd %d has no memory", s.pid)
	return 0
}
