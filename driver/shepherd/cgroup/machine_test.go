package cgroup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd/cgroup"

	"golang.org/x/sys/unix"
)

// here is this machine, and a task's place in every hierarchy that it has: two levels deep,
// so that controllers have to be handed down.
func here(t *testing.T) (cgroup.Hierarchy, cgroup.Spec) {
	t.Helper()
	h, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 || h.Mode == cgroup.None {
		t.Skip("NEEDS ROOT AND CGROUPS")
	}
	slice := fmt.Sprintf("doze-test-%d-%s", os.Getpid(), t.Name())
	s := cgroup.Spec{Legacy: map[string]string{}}
	if h.Unified != "" {
		s.Unified = filepath.Join(h.Unified, slice, "task.scope")
	}
	for controller, mount := range h.Legacy {
		s.Legacy[controller] = filepath.Join(mount, slice, "task")
	}
	t.Cleanup(func() {
		parents := cgroup.Spec{Legacy: map[string]string{}}
		if s.Unified != "" {
			parents.Unified = filepath.Dir(s.Unified)
		}
		for controller, dir := range s.Legacy {
			parents.Legacy[controller] = filepath.Dir(dir)
		}
		if err := cgroup.Remove(parents); err != nil {
			t.Error(err)
		}
	})
	return h, s
}

func sleeper(t *testing.T, g *cgroup.Group) *exec.Cmd {
	t.Helper()
	return start(t, g, "sleep", "60")
}

// start starts a process in the group, as a shepherd does.
func start(t *testing.T, g *cgroup.Group, argv ...string) *exec.Cmd {
	t.Helper()
	child := exec.Command(argv[0], argv[1:]...)
	dir, dirErr := g.Directory()
	if dirErr != nil {
		t.Fatal(dirErr)
	}
	if dir != nil {
		defer dir.Close()
		child.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	}
	var err error
	onThread(func() {
		if err = g.EnterThread(); err == nil {
			err = g.Start(child.Start)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() }) // most have ended by then
	return child
}

// onThread runs f on a thread that ends with it, and so leaves the cgroups that f enters.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		if unix.Gettid() != os.Getpid() {
			f()
			return
		}
		onThread(f) // the first thread does not end
		runtime.UnlockOSThread()
	}()
	<-done
}

func freeze(t *testing.T, g *cgroup.Group) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := g.Freeze(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestGroup_realProcess_freezesThawsAndDies(t *testing.T) {
	h, s := here(t)
	if h.Freezer() == "" {
		t.Skip("NEEDS A FREEZER")
	}
	g := cgroup.Open(s)
	for round := range 2 { // what has been killed in may be started in again
		child := sleeper(t, g)
		freeze(t, g)
		if pids := g.Processes(); !slices.Equal(pids, []int{child.Process.Pid}) {
			t.Fatal(pids)
		}
		if err := g.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// The shepherd of a frozen task is gone. The task is ended for good, and the next one in
// the same place is not touched by it: what is cloned into a cgroup that was killed dies,
// on Linux 6.18.
func TestKill_frozenByOneWhoIsGone_leavesThePlaceToOthers(t *testing.T) {
	h, s := here(t)
	if h.Freezer() == "" {
		t.Skip("NEEDS A FREEZER")
	}
	for range 2 {
		g := cgroup.Open(s)
		child := sleeper(t, g)
		freeze(t, g)
		if err := cgroup.Kill(s); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Fatal(err)
		}
		if err := cgroup.Remove(s); err != nil {
			t.Fatal(err)
		}
	}
	if g := cgroup.Open(s); len(g.Processes()) > 0 || g.Stats().Memory.OOMKills > 0 {
		t.Errorf("there are %v, %+v", g.Processes(), g.Stats())
	}
}

// A directory that is lent is there again, as new, once it has been removed.
func TestRemove_lent_isThereForTheNextOne(t *testing.T) {
	h, s := here(t)
	if h.Unified == "" {
		t.Skip("NEEDS CGROUP V2")
	}
	s.Lent = true
	for _, remove := range []func(*cgroup.Group) error{
		(*cgroup.Group).Remove, func(*cgroup.Group) error { return cgroup.Remove(s) },
	} {
		g := cgroup.Open(s)
		child := sleeper(t, g)
		if h.Freezer() == cgroup.FreezerV2 {
			freeze(t, g)
		}
		err := errors.Join(g.Kill(), cgroup.Kill(s))
		_ = child.Wait() // killed just now
		if err := errors.Join(err, remove(g)); err != nil {
			t.Fatal(err)
		}
		used, err := os.ReadFile(filepath.Join(s.Unified, "cpu.stat"))
		if err != nil || !strings.HasPrefix(string(used), "usage_usec 0\n") {
			t.Errorf("left behind: %q, %v", used, err)
		}
	}
}

// offered are the limits that this machine has a controller for.
func offered(h cgroup.Hierarchy) cgroup.Limits {
	var l cgroup.Limits
	if h.Has("cpu") {
		l.CPUShares, l.CPUQuota = 1024, 50_000
	}
	if h.Has("memory") {
		l.MemoryBytes, l.MemoryReserve, l.SwapBytes = 64<<20, 32<<20, -1
	}
	if h.Has("pids") {
		l.Pids = 100
	}
	if h.Has("cpuset") {
		l.Cpuset = "0"
	}
	return l
}

func TestGroup_limitsThatTheMachineOffers_areTaken(t *testing.T) {
	h, s := here(t)
	s.Limits = offered(h)
	g := cgroup.Open(s)
	if len(g.Missing()) > 0 {
		t.Error(strings.Join(g.Missing(), "\n"))
	}
	sleeper(t, g)
	stats := g.Stats()
	if h.Has("memory") && (stats.Memory.Limit != 64<<20 || stats.Memory.Usage == 0) {
		t.Errorf("memory: %+v", stats.Memory)
	}
	if stats.CPU.Total == 0 || h.Mode == cgroup.V2 && stats.Pids != 1 {
		t.Errorf("%+v", stats)
	}
	if err := g.Kill(); err != nil {
		t.Error(err)
	}
}

// The room that a frozen task takes can be had by others where the machine has swap; awake
// it takes none.
func TestGroup_frozenWithoutSwapOfItsOwn_isSwappedOut(t *testing.T) {
	_, s := here(t)
	s.Limits = cgroup.Limits{MemoryBytes: 64 << 20, SwapBytes: -1}
	g := cgroup.Open(s)
	swaps, err := os.ReadFile("/proc/swaps")
	reclaim := filepath.Join(s.Unified, "memory.reclaim") // since Linux 5.19
	_, missing := os.Stat(reclaim)
	if missing != nil || err != nil || strings.Count(string(swaps), "\n") < 2 {
		t.Skip("NEEDS SWAP, AND CGROUP V2 WITH memory.reclaim")
	}
	start(t, g, "sh", "-c", "head -c 20m /dev/zero | tail; sleep 60") // tail keeps all of it
	for _, frozen := range []bool{false, true} {
		if frozen {
			freeze(t, g)
		}
		for deadline := time.Now().Add(10 * time.Second); g.Stats().Memory.RSS < 15<<20; {
			if time.Now().After(deadline) {
				t.Fatalf("%+v", g.Stats().Memory)
			}
			runtime.Gosched()
		}
		// fails where less than that can be had
		_ = exec.Command("sh", "-c", "echo 10M > "+reclaim).Run()
		if swapped := g.Stats().Memory.Swap; swapped > 0 != frozen {
			t.Errorf("frozen is %t, and %d bytes are swapped out", frozen, swapped)
		}
	}
	if err := g.Kill(); err != nil {
		t.Error(err)
	}
}

// In v2 a cgroup with processes of its own hands no controllers down (the rule against
// internal processes): the task runs, and freezes, and what it lacks is told.
func TestGroup_belowOneWithProcesses_lacksItsLimitsOnly(t *testing.T) {
	h, s := here(t)
	if h.Mode != cgroup.V2 || !h.Has("memory") {
		t.Skip("NEEDS CGROUP V2 WITH A MEMORY CONTROLLER")
	}
	above := cgroup.Open(cgroup.Spec{Unified: filepath.Dir(s.Unified)})
	other := sleeper(t, above)
	s.Limits = offered(h)
	g := cgroup.Open(s)
	missing := strings.Join(g.Missing(), "\n")
	for _, what := range []string{"memory limit", "pids limit", "cpu shares"} {
		if !strings.Contains(missing, what) {
			t.Errorf("%q does not tell of the %s", missing, what)
		}
	}
	child := sleeper(t, g)
	freeze(t, g)
	if err := g.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil || g.Stats().CPU.Total == 0 {
		t.Errorf("%v %+v", err, g.Stats())
	}
	if err := syscall.Kill(other.Process.Pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = other.Wait() // killed just now
}
