package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"doze/plugins/drivers"
)

// cgroup is the task's own, which Nomad has made since 1.7, and empties and removes after the
// task's end; "": it has none. Only cgroup v2 has one: v1's path is a cpuset that tasks may
// share.
type cgroup string

func cgroupOf(task drivers.TaskConfig) cgroup {
	path := task.Resources.Linux.CgroupPath
	if path == "" {
		return ""
	}
	if _, err := os.Stat(filepath.Join(path, "cgroup.events")); err != nil {
		return "" // v1, or no cgroups
	}
	return cgroup(path)
}

// enter puts a process into it. It is not born there: on Linux 6.18 who is born into a cgroup
// where cgroup.kill was ever used is killed at once.
func (g cgroup) enter(pid int) error {
	if g == "" {
		return nil
	}
	f, err := os.OpenFile(g.file("cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("cannot open the task's cgroup: %w", err)
	}
	_, err = f.WriteString(strconv.Itoa(pid))
	err = errors.Join(err, f.Close())
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended already
	}
	if err != nil {
		return fmt.Errorf("cannot enter the task's cgroup: %w", err)
	}
	return nil
}

func (g cgroup) file(name string) string { return filepath.Join(string(g), name) }

// emptyWait bounds how long what was killed may take to end.
const emptyWait = 5 * time.Second

// empty ends what is in it: a start that nobody knows of. Where a plugin dies before it can
// answer to a start, Nomad starts the task again, under the same id.
func (g cgroup) empty() error {
	if g == "" {
		return nil
	}
	deadline := time.Now().Add(emptyWait)
	for {
		procs, err := os.ReadFile(g.file("cgroup.procs"))
		if err != nil {
			return fmt.Errorf("cannot read the task's cgroup: %w", err)
		}
		if len(procs) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("cannot empty the task's cgroup: processes %q do not end", procs)
		}
		for pid := range strings.FieldsSeq(string(procs)) {
			if n, err := strconv.Atoi(pid); err == nil && n > 1 {
				_ = unix.Kill(n, unix.SIGKILL) // it may have ended; the next round sees
			}
		}
		time.Sleep(time.Millisecond)
	}
}
