package process_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"doze/plugins/drivers"
	"doze/plugins/process"
)

// scope is a cgroup such as Nomad makes for a task.
func scope(t *testing.T) string {
	t.Helper()
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		path := filepath.Join(mount, fmt.Sprintf("process-test-%d.scope", os.Getpid()))
		if os.Mkdir(path, 0o755) != nil {
			continue // not root, or no cgroups here
		}
		t.Cleanup(func() {
			if err := os.Remove(path); err != nil {
				t.Errorf("a process is left in its cgroup: %v", err)
			}
		})
		if kill, err := os.OpenFile(filepath.Join(path, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
			_, err = kill.WriteString("1") // as an agent has done it after an earlier start
			if err = errors.Join(err, kill.Close()); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	t.Skip("SKIP: no cgroup v2 can be made here; no process was started in one")
	return ""
}

func TestStart_cgroupThatNomadHasMade_holdsTheProcessAlone(t *testing.T) {
	w := newWorld(t)
	w.Resources.Linux.CgroupPath = scope(t)
	// A start that nobody knows of: its plugin died before it could answer.
	lost, err := w.sh(t, "exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.sh(t, "exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	if r := lost.Wait(); r.Signal != 9 {
		t.Errorf("the start before ended with %+v", r)
	}
	in, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", second.PID()))
	if err != nil || !strings.Contains(string(in), filepath.Base(w.Resources.Linux.CgroupPath)) {
		t.Errorf("the process is in %q, %v", in, err)
	}
	if err := second.Kill(); err != nil {
		t.Error(err)
	}
	if r := second.Wait(); r.Signal != 9 {
		t.Errorf("it ended with %+v", r)
	}
}

// The path of cgroup v1 is a cpuset that all tasks share: whoever kills what is in it kills
// the others' tasks.
func TestStart_sharedCpusetOfCgroupV1_isLeftAlone(t *testing.T) {
	w := newWorld(t)
	shared := t.TempDir()
	procs := filepath.Join(shared, "cgroup.procs")
	if err := os.WriteFile(procs, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Resources.Linux.CgroupPath = shared
	p, err := process.Start(w.TaskConfig, exec.Command("/bin/true"))
	if err != nil {
		t.Fatal(err)
	}
	if r := p.Wait(); r != (drivers.ExitResult{}) {
		t.Errorf("it ended with %+v", r)
	}
	left, err := os.ReadDir(shared)
	if err != nil || len(left) != 1 {
		t.Errorf("the directory has %v, %v", left, err)
	}
}
