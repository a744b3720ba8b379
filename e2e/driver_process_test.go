//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// processesOf are the processes that a task of the allocation has started, whatever their
// state: they have its environment.
func processesOf(t testing.TB, allocID string) []int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	fail(t, err)
	var pids []int
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte("NOMAD_ALLOC_ID="+allocID+"\x00")) {
			continue // gone, or another's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fail(t, err)
		pids = append(pids, pid)
	}
	return pids
}

// turnsOf is how often the processes' threads have had a processor and left it (proc(5):
// context switches): it stands still while they are frozen.
func turnsOf(t testing.TB, pids []int) (turns int) {
	t.Helper()
	for _, pid := range pids {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		fail(t, err)
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			fail(t, err)
			for line := range strings.Lines(string(text)) {
				if _, count, ok := strings.Cut(line, "voluntary_ctxt_switches:"); ok {
					n, err := strconv.Atoi(strings.TrimSpace(count))
					fail(t, err)
					turns += n
				}
			}
		}
	}
	return turns
}

// statusOf are the fields of a process's status (proc(5)), each in words.
func statusOf(t testing.TB, pid int) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	fail(t, err)
	fields := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		key, rest, _ := strings.Cut(line, ":")
		fields[key] = strings.Fields(rest)
	}
	return fields
}

// shepherdOf is the shepherd of a task's process: the nearest ancestor that is one.
func shepherdOf(t testing.TB, pid int) int {
	t.Helper()
	for pid > 1 {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		fail(t, err)
		if bytes.Contains(line, []byte("\x00shepherd\x00")) {
			return pid
		}
		pid, err = ppid(pid)
		fail(t, err)
	}
	t.Fatal("the task has no shepherd")
	return 0
}

// ppid is a process's parent, if the process is there.
func ppid(pid int) (int, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	// proc(5): pid (comm) state ppid; comm may hold anything but ends at the last ")"
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return strconv.Atoi(fields[1])
}

// shepherdsIn are the shepherds whose sockets lie in a state directory, not in one that others
// have of the same name.
func shepherdsIn(t testing.TB, state string) []int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	fail(t, err)
	ours, err := os.Stat(state)
	if err != nil {
		return nil // nor can there be any
	}
	var pids []int
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(line, []byte("\x00shepherd\x00"+state+"/")) {
			continue // gone, or another
		}
		theirs, err := os.Stat(filepath.Join(filepath.Dir(path), "root", state))
		if err == nil && os.SameFile(ours, theirs) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			fail(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

// pluginPid is the process of a plugin's program.
func pluginPid(t testing.TB, program string) int {
	t.Helper()
	pids := pluginsOf(t, program)
	if len(pids) != 1 {
		t.Fatalf("the plugin processes of %s are %v", program, pids)
	}
	return pids[0]
}

// pluginsOf are the processes of a plugin's program, without those that a plugin has forked
// and that are not what they are to be yet. An agent has two for a moment, when it begins and
// asks the first what it is.
func pluginsOf(t testing.TB, program string) []int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	fail(t, err)
	var pids []int
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil || string(line) != program+"\x00" {
			continue // gone, or another's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fail(t, err)
		pids = append(pids, pid)
	}
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		parent, err := ppid(pid)
		return err != nil || slices.Contains(pids, parent) // gone, or forked
	})
}

// isFrozen reports whether a process is in a cgroup that is frozen, of v2 or of v1.
func isFrozen(t testing.TB, pid int) bool {
	t.Helper()
	groups, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return false // it has just ended
	}
	for line := range strings.Lines(string(groups)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controller, group, _ := strings.Cut(rest, ":")
		for _, file := range []struct{ path, want string }{
			{filepath.Join("/sys/fs/cgroup", controller, group, "freezer.state"), "FROZEN"},
			{filepath.Join("/sys/fs/cgroup", group, "cgroup.events"), "frozen 1"},
			{filepath.Join("/sys/fs/cgroup/unified", group, "cgroup.events"), "frozen 1"},
		} {
			text, err := os.ReadFile(file.path)
			if err == nil && strings.Contains(string(text), file.want) {
				return true
			}
		}
	}
	return false
}
