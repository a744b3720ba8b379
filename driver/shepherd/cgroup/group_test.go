package cgroup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doze/driver/shepherd/cgroup"
)

// fake makes a directory with a cgroup's files.
func fake(t *testing.T, files ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "task")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func content(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func limits() cgroup.Limits {
	return cgroup.Limits{
		CPUShares: 1024, CPUQuota: 50_000, MemoryBytes: 64 << 20, MemoryReserve: 32 << 20,
		SwapBytes: 16 << 20, Pids: 100, Cpuset: "0-1",
	}
}

func TestGroup_limitsInV2_areWritten(t *testing.T) {
	want := map[string]string{
		"cpu.weight": "100", "cpu.max": "50000 100000", "memory.max": "67108864",
		"memory.low": "33554432", "memory.swap.max": "16777216", "pids.max": "100",
		"cpuset.cpus": "0-1",
	}
	var files []string
	for f := range want {
		files = append(files, f)
	}
	dir := fake(t, files...)
	g := cgroup.Open(cgroup.Spec{Unified: dir, Limits: limits()})
	if len(g.Missing()) > 0 {
		t.Error(g.Missing())
	}
	for f, value := range want {
		if got := content(t, dir, f); got != value {
			t.Errorf("%s is %q, want %q", f, got, value)
		}
	}
}

// What tasks of raw_exec are given for as many shares, as seen under Nomad 2.0.5.
func TestGroup_sharesInV2_weighWhatNomadsWeigh(t *testing.T) {
	for shares, want := range map[uint64]string{
		1: "1", 2: "1", 100: "17", 500: "58", 1024: "100", 4000: "297",
		262144: "10000", 1 << 40: "10000",
	} {
		dir := fake(t, "cpu.weight")
		cgroup.Open(cgroup.Spec{Unified: dir, Limits: cgroup.Limits{CPUShares: shares}})
		if got := content(t, dir, "cpu.weight"); got != want {
			t.Errorf("%d shares weigh %s, not %s", shares, got, want)
		}
	}
}

func TestGroup_limitsInV1_areWritten(t *testing.T) {
	cpu := fake(t, "cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us")
	memory := fake(t, "memory.limit_in_bytes", "memory.soft_limit_in_bytes",
		"memory.memsw.limit_in_bytes")
	g := cgroup.Open(cgroup.Spec{
		Legacy: map[string]string{"cpu": cpu, "memory": memory}, Limits: limits(),
	})
	missing := strings.Join(g.Missing(), "\n")
	if !strings.Contains(missing, "pids limit") || !strings.Contains(missing, "cpuset") ||
		len(g.Missing()) != 2 {
		t.Error(missing)
	}
	for path, want := range map[string]string{
		cpu + "/cpu.shares": "1024", cpu + "/cpu.cfs_quota_us": "50000",
		memory + "/memory.limit_in_bytes":       "67108864",
		memory + "/memory.memsw.limit_in_bytes": "83886080",
	} {
		if got := content(t, filepath.Dir(path), filepath.Base(path)); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// Handed down by a cgroup with processes of its own, some controllers would keep every process
// out of the task's.
func TestGroup_controllersInV2_areHandedDownWhereNobodyLives(t *testing.T) {
	for _, c := range []struct{ kind, procs, want string }{
		{"cgroup.type", "", "+pids"}, {"cgroup.type", "17\n", ""}, {"root", "17\n", "+pids"},
	} {
		slice := fake(t, c.kind, "cgroup.subtree_control")
		for file, text := range map[string]string{
			"cgroup.controllers": "pids\n", "cgroup.procs": c.procs,
		} {
			if err := os.WriteFile(filepath.Join(slice, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cgroup.Open(cgroup.Spec{Unified: filepath.Join(slice, "task.scope")})
		if got := content(t, slice, "cgroup.subtree_control"); got != c.want {
			t.Errorf("%s with processes %q hands down %q", c.kind, c.procs, got)
		}
	}
}

func TestGroup_withoutSwapInV2_maySwapWhileFrozen(t *testing.T) {
	dir := fake(t, "cgroup.freeze", "cgroup.events", "memory.max", "memory.swap.max")
	events := filepath.Join(dir, "cgroup.events")
	if err := os.WriteFile(events, []byte("frozen 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	limits := cgroup.Limits{MemoryBytes: 1 << 20, SwapBytes: -1}
	g := cgroup.Open(cgroup.Spec{Unified: dir, Limits: limits})
	for range 2 {
		if got := content(t, dir, "memory.swap.max"); !strings.HasPrefix(got, "0") {
			t.Errorf("awake, it may have %s of swap", got)
		}
		if err := g.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := content(t, dir, "memory.swap.max"); got != "max" {
			t.Errorf("frozen, it may have %s of swap", got)
		}
		if err := g.Thaw(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGroup_ofNothing_doesNothing(t *testing.T) {
	g := cgroup.Open(cgroup.Spec{})
	if err := g.Freeze(t.Context()); !errors.Is(err, cgroup.ErrNoFreezer) {
		t.Error(err)
	}
	dir, err := g.Directory()
	if dir != nil || err != nil {
		t.Error(dir, err)
	}
	for what, err := range map[string]error{
		"thaw": g.Thaw(), "kill": g.Kill(), "enter": g.EnterThread(), "remove": g.Remove(),
	} {
		if err != nil {
			t.Error(what, err)
		}
	}
	if s := g.Stats(); s != (cgroup.Stats{}) {
		t.Errorf("%+v", s)
	}
}

func TestGroup_stats_areReadFromBothKinds(t *testing.T) {
	dir := fake(t)
	for file, text := range map[string]string{
		"cpu.stat":       "usage_usec 10\nuser_usec 6\nsystem_usec 4\nnr_throttled 2\nthrottled_usec 7\n",
		"memory.current": "1000\n", "memory.peak": "2000\n", "memory.max": "max\n",
		"memory.stat": "anon 300\nfile 400\n", "memory.events": "oom 1\noom_kill 3\n",
		"pids.current": "5\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := cgroup.Open(cgroup.Spec{Unified: dir}).Stats()
	if s.CPU.Total != 10_000 || s.CPU.ThrottledTime != 7_000 || s.Memory.Usage != 1000 ||
		s.Memory.Max != 2000 || !s.Memory.MaxKnown || s.Memory.Limit != 0 ||
		s.Memory.RSS != 300 || s.Memory.OOMKills != 3 || s.Pids != 5 {
		t.Errorf("%+v", s)
	}
}
