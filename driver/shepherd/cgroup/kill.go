package cgroup

import (
	"errors"
	"path/filepath"
	"strconv"
	"syscall"
)

// Kill kills every process of the task, frozen or not, and leaves the cgroups fit for new
// ones. It does not wait for their end.
//
// cgroup.kill is not for this: on Linux 6.18 whatever is cloned into a cgroup
// (CLONE_INTO_CGROUP) after it was used there is killed at once.
func (g *Group) Kill() error {
	errs := []error{g.Thaw()}
	if g.unified != "" {
		errs = append(errs, killListed(g.unified))
	}
	for _, controller := range sortedKeys(g.legacy) {
		errs = append(errs, killListed(g.legacy[controller]))
	}
	return errors.Join(errs...)
}

// Kill kills every process in a task's cgroups, whoever started it, for good: it is for
// those who find a task without its shepherd.
func Kill(s Spec) error {
	var errs []error
	if s.Unified != "" {
		errs = append(errs, killUnified(s.Unified))
	}
	for _, controller := range sortedKeys(s.Legacy) {
		errs = append(errs, killListed(s.Legacy[controller]))
	}
	if dir := s.Legacy["freezer"]; dir != "" && exists(dir, "freezer.state") {
		errs = append(errs, write(dir, "freezer.state", "THAWED"))
	}
	return errors.Join(errs...)
}

// killUnified uses cgroup.kill (Linux 5.14), which no fork escapes.
func killUnified(dir string) error {
	if exists(dir, "cgroup.kill") {
		return write(dir, "cgroup.kill", "1")
	}
	return killListed(dir)
}

// killListed kills until nobody new is listed, so that forks do not escape.
func killListed(dir string) error {
	for range 100 {
		pids := listed(dir)
		if len(pids) == 0 {
			return nil
		}
		killed := 0
		for _, pid := range pids {
			if syscall.Kill(pid, syscall.SIGKILL) == nil && !zombie(pid) {
				killed++
			}
		}
		if killed == 0 {
			return nil
		}
	}
	return nil // whoever still is listed has been killed a hundred times, and dies
}

// listed returns the processes of a cgroup, as this pid namespace sees them, without this
// process itself: a v1 cgroup may hold a thread of it.
func listed(dir string) []int {
	self := syscall.Getpid()
	var pids []int
	for _, field := range readFields(filepath.Join(dir, "cgroup.procs")) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 && pid != self {
			pids = append(pids, pid)
		}
	}
	return pids
}

// zombie reports whether a process is dead and not yet reaped, or gone.
func zombie(pid int) bool {
	fields := readFields("/proc/" + strconv.Itoa(pid) + "/stat")
	for i, f := range fields {
		if len(f) > 0 && f[len(f)-1] == ')' && i+1 < len(fields) {
			return fields[i+1] == "Z" || fields[i+1] == "X"
		}
	}
	return true
}

// Processes returns the pids of the task's processes as this pid namespace sees them; nil
// without a cgroup.
func (g *Group) Processes() []int {
	if g.unified != "" {
		return listed(g.unified)
	}
	for _, controller := range sortedKeys(g.legacy) {
		return listed(g.legacy[controller])
	}
	return nil
}
