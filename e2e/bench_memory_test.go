//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// herd is how many tasks of a kind there are at once when memory is measured, openConns how many
// connections a much used one has, and leanAfter when a shepherd to whom nothing happens has
// given back what it can.
const (
	herd      = 10
	openConns = 1000
	leanAfter = 3 * time.Second
)

// memory measures what a task costs beside its application; and how fast those wake who have
// slept for a while, whose shepherds have let go of all that they need not hold.
func (b *bench) memory() {
	var rows []row
	if b.d.real {
		rows = append(rows, b.rawExecMemory())
	}
	if b.docker != nil {
		rows = append(rows, b.dockerMemory()...)
	}
	var naps []*nap
	for i := range herd {
		n := b.nap(fmt.Sprintf("mem-doze-%d", i), "relay")
		naps = append(naps, n)
	}
	b.leanWakes(naps)
	b.table.add(fmt.Sprintf("memory beside the application, PSS, %d tasks of a kind", herd),
		append(rows, b.dozeMemory(naps)...)...)
}

// leanWakes wakes tasks that have been left alone in their sleep, all but one, which is asked
// as often and never sleeps.
func (b *bench) leanWakes(naps []*nap) {
	took, noise := new(samples), new(samples)
	awake, naps := naps[0], naps[1:]
	for range b.rounds(12) {
		for _, n := range naps {
			n.freeze()
		}
		time.Sleep(leanAfter) // it is the subject
		for _, n := range naps {
			took.took(b.firstByte(n.addr, true))
			noise.took(b.firstByte(awake.addr, true))
		}
	}
	b.table.add("frozen and left alone for "+leanAfter.String()+": connection → first byte",
		row{what: "never asleep, relay: the noise", samples: noise},
		row{what: "frozen, relay, a request waits", samples: took,
			goal: frozenGoal, met: meetsFrozenGoal, noise: noise})
}

func (b *bench) dozeMemory(naps []*nap) []row {
	var rows []row
	var shepherds, logmons [][]int
	for _, n := range naps {
		shepherds = append(shepherds, []int{shepherdOf(b, n.pid)})
		logmons = append(logmons, logmonsOf(b, n.alloc.ID))
	}
	for _, depth := range []struct {
		name  string
		sleep func(*nap)
	}{
		{"awake", func(n *nap) { b.firstByte(n.addr, true) }},
		{"frozen", (*nap).freeze},
		{"parked", (*nap).park},
	} {
		for _, n := range naps {
			depth.sleep(n)
		}
		time.Sleep(leanAfter) // what is measured is a task that nobody uses
		rows = append(rows, row{what: "doze, " + depth.name + ": shepherd",
			samples: pss(b, shepherds), goal: "p50 ≤ 8 MiB",
			met: func(s *samples) bool { return s.p50() <= 8 }})
	}
	rows = append(rows, row{what: fmt.Sprintf("doze, awake with %d open connections: shepherd", openConns),
		samples: b.crowdedMemory(naps[0], shepherds[0])})
	if b.d.real {
		rows = append(rows, row{what: "doze, where Nomad collects the logs: logmon besides",
			samples: pss(b, logmons)})
	}
	return append(rows, row{what: "doze, once a node: the plugin",
		samples: pss(b, [][]int{{pluginPid(b, b.d.plugin)}})})
}

// crowdedMemory is what a shepherd takes whose task has many quiet connections.
func (b *bench) crowdedMemory(n *nap, shepherd []int) *samples {
	for range openConns {
		var c client
		fail(b, c.dial(n.addr))
		defer c.conn.Close()
	}
	time.Sleep(leanAfter) // as for the others
	return pss(b, [][]int{shepherd})
}

func (b *bench) rawExecMemory() row {
	var helpers [][]int
	for i := range herd {
		job := drivenJob{id: fmt.Sprintf("mem-raw-%d", i), driver: "raw_exec",
			config: map[string]any{"command": b.app}}
		b.d.run(job)
		alloc := b.d.alloc(job.id).ID
		var own []int
		b.d.await(job.id+" to start", func() error {
			if own = processesOf(b, alloc); len(own) == 0 {
				return fmt.Errorf("it has no process")
			}
			return nil
		})
		helpers = append(helpers, append(logmonsOf(b, alloc), parentOf(b, own[0])))
	}
	time.Sleep(leanAfter) // as for the others
	return row{what: "raw_exec: executor and logmon", samples: pss(b, helpers)}
}

func (b *bench) dockerMemory() []row {
	what := "docker: containerd-shim (the daemon publishes no ports)"
	start := b.docker.hostNetwork
	if b.docker.bridge {
		what, start = "docker: containerd-shim and docker-proxy", b.docker.published
	}
	var helpers [][]int
	for range herd {
		c := start()
		_, port, _ := strings.Cut(c.addr, ":")
		own := []int{parentOf(b, c.pid())}
		own = append(own, running(b, func(argv []string) bool {
			return filepath.Base(argv[0]) == "docker-proxy" && slices.Contains(argv, port)
		})...)
		helpers = append(helpers, own)
	}
	time.Sleep(leanAfter) // as for the others
	daemons := running(b, func(argv []string) bool {
		return slices.Contains([]string{"dockerd", "containerd"}, filepath.Base(argv[0]))
	})
	return []row{{what: what, samples: pss(b, helpers)},
		{what: "docker, once a node: dockerd and containerd", samples: pss(b, [][]int{daemons})}}
}

// logmonsOf are the processes that collect an allocation's logs for Nomad: they hold its pipes.
func logmonsOf(t testing.TB, allocID string) []int {
	t.Helper()
	collectors := running(t, func(argv []string) bool { return slices.Contains(argv, "logmon") })
	return slices.DeleteFunc(collectors, func(pid int) bool {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		fail(t, err)
		return !slices.ContainsFunc(files, func(file string) bool {
			to, err := os.Readlink(file)
			return err == nil && strings.Contains(to, allocID) // else just closed
		})
	})
}

// running are the processes whose arguments are so.
func running(t testing.TB, is func(argv []string) bool) []int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	fail(t, err)
	var pids []int
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil || !is(strings.Split(string(line), "\x00")) {
			continue // gone, or another
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fail(t, err)
		pids = append(pids, pid)
	}
	return pids
}

func parentOf(t testing.TB, pid int) int {
	t.Helper()
	parent, err := ppid(pid)
	fail(t, err)
	return parent
}

// pss sums the proportional set size of each task's processes.
func pss(t testing.TB, tasks [][]int) *samples {
	t.Helper()
	s := &samples{unit: "MiB"}
	for _, pids := range tasks {
		sum := 0.0
		for _, pid := range pids {
			sum += pssOf(t, pid)
		}
		s.add(sum)
	}
	return s
}

func pssOf(t testing.TB, pid int) float64 {
	t.Helper()
	for _, line := range readLines(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "Pss: %f", &kib); n == 1 {
			return kib / 1024
		}
	}
	t.Fatalf("process %d has no PSS", pid)
	return 0
}
