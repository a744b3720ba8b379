//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"doze/internal/realnomad"
)

// BenchmarkDriver prints one table of what the task driver promises, beside what it is
// compared with: raw_exec on the same agent, Docker, HAProxy, the application itself. Things
// that are compared take turns. Who is not on the machine is named below the table.
//
// It uses the Docker daemon that DOCKER_HOST names, or the one at /var/run/docker.sock, and
// starts none. With -short it takes a tenth of the rounds; -bench Driver/frozen is that part
// alone.
func BenchmarkDriver(tb *testing.B) {
	if os.Geteuid() != 0 {
		tb.Skip("SKIPPED: the task driver was not measured: it needs root")
	}
	b := newBench(tb)
	for _, part := range []struct {
		name    string
		measure func(*bench)
	}{
		{"frozen", (*bench).frozen},
		{"parked", (*bench).parked},
		{"traffic", (*bench).traffic},
		{"starts", (*bench).starts},
		{"memory", (*bench).memory},
	} {
		tb.Run(part.name, func(tb *testing.B) {
			for tb.Loop() {
				part.measure(b.in(tb))
			}
		})
	}
	b.table.head = append(b.table.head, "load at the end: "+load(b))
	b.table.print(os.Stdout)
}

// howToRead stands below the table.
const howToRead = `Of fewer than some 70 samples p99 is the worst; of rates and their ratios it is the low end.
÷ and − are taken round by round. The containers that wake use the machine's own network and are
ordered about over the daemon's API: there is nothing between them and their clients. "noise" is a goal
that this machine missed at that time without any sleep, too.`

// bench is a run: an agent with the driver, the application, and the table.
type bench struct {
	testing.TB
	d      *driven
	table  *table
	docker *engine // nil: there is none
	app    string  // the application's program
}

func newBench(tb *testing.B) *bench {
	tb.Helper()
	b := &bench{TB: tb, table: &table{
		head:  []string{machine(), "load at the start: " + load(tb)},
		notes: []string{howToRead},
	}}
	b.d = startBenched(tb)
	if !b.d.real {
		b.table.skip("Nomad is not on PATH: nothing of raw_exec, and the driver was measured on " +
			"the embedded cluster")
	}
	b.table.head = append(b.table.head, b.freezer())
	b.app = buildBenchapp(tb)
	var err error
	if b.docker, err = findEngine(tb); err != nil {
		b.table.skip("Docker: " + err.Error())
		return b
	}
	b.docker.build(b.app)
	b.table.head = append(b.table.head, "Docker "+b.docker.version)
	return b
}

// in is the same run for one of its parts, whose tasks end with it.
func (b *bench) in(tb *testing.B) *bench {
	part := *b
	part.TB, part.d = tb, b.d.in(tb)
	if b.docker != nil {
		engine := *b.docker
		engine.TB = tb
		part.docker = &engine
	}
	return &part
}

// buildBenchapp builds the application where every user may run it.
func buildBenchapp(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "doze-bench-")
	fail(tb, err)
	tb.Cleanup(func() { fail(tb, os.RemoveAll(dir)) })
	fail(tb, os.Chmod(dir, 0o755))
	app := filepath.Join(dir, "benchapp")
	build := exec.Command("go", "build", "-trimpath", "-o", app, "./benchapp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("cannot build the application: %v\n%s", err, out)
	}
	fail(tb, os.Chmod(app, 0o755))
	return app
}

// startBenched is a real agent with the driver or, where there is no Nomad, the embedded
// cluster with it.
func startBenched(tb testing.TB) *driven {
	tb.Helper()
	if _, err := realnomad.Program(); errors.Is(err, realnomad.ErrNotFound) {
		return startEmbeddedDriven(tb).driven
	}
	return startDriven(tb)
}

// rounds is how many rounds there are of so many.
func (b *bench) rounds(n int) int {
	if testing.Short() {
		return max(n/10, 2)
	}
	return n
}

// machine describes what this runs on, and with what.
func machine() string {
	words := []string{fmt.Sprintf("%d CPUs", runtime.NumCPU())}
	for _, line := range readLines("/proc/cpuinfo") {
		if name, ok := strings.CutPrefix(line, "model name\t: "); ok {
			words = append(words, name)
			break
		}
	}
	for _, line := range readLines("/proc/sys/kernel/osrelease") {
		words = append(words, "Linux "+line)
	}
	for _, program := range [][]string{{binary, "version"}, {"nomad", "version"}, {"haproxy", "-v"}} {
		if out, err := exec.Command(program[0], program[1:]...).Output(); err == nil {
			line, _, _ := strings.Cut(string(out), "\n")
			words = append(words, line)
		}
	}
	return strings.Join(words, ", ")
}

// freezer tells how tasks are frozen here.
func (b *bench) freezer() string {
	about := b.d.node().Drivers["doze"].Attributes
	return fmt.Sprintf("cgroups %s, freezer %s",
		about["driver.doze.cgroups"], about["driver.doze.freezer"])
}

// readLines are the lines of a file; none, where there is no such file.
func readLines(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// load is the machine's load in the last minute, by others too.
func load(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	fail(tb, err)
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
