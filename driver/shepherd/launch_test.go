package shepherd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/idle"
)

// cradle names cgroups of this test's own for the shepherd itself, as the driver does: one
// in v2, and where there is v1 a cpuset.
func cradle(t testing.TB) []string {
	t.Helper()
	asRoot(t)
	h, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("doze-test-shepherds-%d-%d", os.Getpid(), tasks.Add(1))
	var dirs []string
	if h.Unified != "" {
		dirs = append(dirs, filepath.Join(h.Unified, name))
	}
	if h.Legacy["cpuset"] != "" {
		dirs = append(dirs, filepath.Join(h.Legacy["cpuset"], name))
	}
	if len(dirs) == 0 {
		t.Skip("NEEDS CGROUPS")
	}
	s := cgroup.Spec{Legacy: map[string]string{}}
	for i, dir := range dirs {
		s.Legacy[fmt.Sprint(i)] = dir
		if strings.HasPrefix(dir, h.Legacy["cpuset"]+"/") {
			cgroup.Open(cgroup.Spec{Legacy: map[string]string{"cpuset": dir}}) // fills it
		}
	}
	t.Cleanup(func() {
		if err := cgroup.Remove(s); err != nil {
			t.Error(err)
		}
	})
	return dirs
}

// cgroupsOf are the paths of a process's cgroups below their mounts.
func cgroupsOf(t testing.TB, pid int) []string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for line := range strings.Lines(string(text)) {
		paths = append(paths, strings.TrimSpace(line[strings.LastIndex(line, ":")+1:]))
	}
	return paths
}

func TestLaunch_shepherdsCgroups_holdItAndNotItsTask(t *testing.T) {
	s := spec(t, "http")
	s.Cgroup.Shepherd = cradle(t)
	before := cgroupsOf(t, os.Getpid())
	c := launch(t, s)
	st := status(t, c)
	if strings.Contains(strings.Join(st.Missing, "\n"), "cgroup") {
		t.Error(st.Missing)
	}
	in := cgroupsOf(t, st.Shepherd)
	for _, dir := range s.Cgroup.Shepherd {
		if !slices.Contains(in, "/"+filepath.Base(dir)) {
			t.Errorf("the shepherd is in %v, not in %s", in, dir)
		}
	}
	if s.Cgroup.Unified != "" {
		wantIn(t, run(t, c, "cat", "/proc/self/cgroup"), "0::/"+filepath.Base(s.Cgroup.Unified)+"\n")
	}
	if after := cgroupsOf(t, os.Getpid()); !slices.Equal(before, after) {
		t.Errorf("whoever launches was in %v and is in %v", before, after)
	}
}

// An operator who kills all shepherds by their cgroup does not keep new ones from living.
func TestLaunch_shepherdsCgroupWasKilled_runsAllTheSame(t *testing.T) {
	dirs := cradle(t)
	if err := os.MkdirAll(dirs[0], 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "cgroup.kill"), []byte("1"), 0); err != nil {
		t.Skip("NEEDS cgroup.kill: ", err)
	}
	for range 2 {
		s := spec(t, "http")
		s.Cgroup.Shepherd = dirs
		c := launch(t, s)
		mustGet(t, c, "/")
		if missing := status(t, c).Missing; strings.Contains(strings.Join(missing, "\n"), "cgroup") {
			t.Error(missing)
		}
	}
}

// Before Linux 5.3, and under the filters of many a container, there is no clone3(2).
func TestLaunch_kernelWithoutClone3_movesIntoTheCgroups(t *testing.T) {
	withFreezer(t)
	const told = "DOZE_TEST_WITHOUT_CLONE3"
	if os.Getenv(told) == "" {
		again := exec.Command(binary, "-test.run=^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), told+"=1")
		out, err := again.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	refuse(t, unix.SYS_CLONE3, unix.ENOSYS)
	s := spec(t, "http")
	s.Cgroup.Shepherd = cradle(t)
	c := launch(t, s)
	for _, dir := range s.Cgroup.Shepherd {
		if in := cgroupsOf(t, status(t, c).Shepherd); !slices.Contains(in, "/"+filepath.Base(dir)) {
			t.Errorf("the shepherd is in %v, not in %s", in, dir)
		}
	}
	awaitState(t, c, idle.Ready)
	for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
		sleepUnused(t, c, depth)
		mustGet(t, c, "/")
	}
}

// refuse has a system call fail in this process, and in all that it starts.
func refuse(t *testing.T, call uint32, with unix.Errno) {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(with)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		t.Fatal(errno)
	}
}

// BenchmarkLaunch is a task's start as the driver has it: until the shepherd says that the
// application has been started, and until the application's first byte.
func BenchmarkLaunch(b *testing.B) {
	s := spec(b, "http")
	s.Cgroup.Shepherd = cradle(b)
	var launched, answered []time.Duration
	for b.Loop() {
		began := time.Now()
		c, err := shepherd.Launch(b.Context(), socketDir(b), s)
		if err != nil {
			b.Fatal(err)
		}
		launched = append(launched, time.Since(began))
		if _, err := firstByte(status(b, c).Listen, false); err != nil {
			b.Fatal(err)
		}
		answered = append(answered, time.Since(began))
		b.StopTimer()
		if err := c.Destroy(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	slices.Sort(launched)
	slices.Sort(answered)
	b.ReportMetric(float64(launched[len(launched)/2].Microseconds()), "launched-p50-µs")
	b.ReportMetric(float64(answered[len(answered)/2].Microseconds()), "answered-p50-µs")
}
