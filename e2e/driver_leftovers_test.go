//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// testNothingLeft: of tasks at every depth nothing is left when their jobs are purged and
// Nomad has collected its garbage.
func testNothingLeft(t *testing.T, d *driven) {
	tasks := []struct {
		depth depth
		job   drivenJob
	}{
		{awake, drivenJob{id: "gone-awake", config: map[string]any{"listen": "http"}}},
		{frozen, drivenJob{id: "gone-frozen", config: map[string]any{"listen": "http"}}},
		{parked, drivenJob{id: "gone-parked", config: map[string]any{"listen": "http"}}},
		{frozen, drivenJob{id: "gone-socket", config: socketConfig("30s", "")}},
		{parked, drivenJob{id: "gone-unborn", config: map[string]any{"listen": "http",
			"start": "on_demand"}}},
		{awake, drivenJob{id: "gone-deaf"}}, // it does not sleep
	}
	for _, task := range tasks {
		d.register(task.job)
	}
	var allocs []string
	for _, task := range tasks {
		d.awaitRunning(task.job.id)
		if task.job.config != nil && task.job.config["start"] == nil {
			d.bringTo(task.job.id, task.depth)
		}
		allocs = append(allocs, d.alloc(task.job.id).ID)
	}
	entries, err := os.ReadDir(d.state)
	fail(t, err)
	if len(entries) < len(tasks) {
		t.Errorf("of %d tasks there are %v in the state directory", len(tasks), entries)
	}
	names := slices.Clone(allocs)
	for _, entry := range entries {
		names = append(names, entry.Name()) // the cgroups that are not Nomad's have it too
	}
	if found := tracesOf(t, names); len(found) < len(tasks) {
		t.Errorf("while they run there is no more of them than %v", found)
	}
	for _, task := range tasks {
		_, _, err := d.client.Jobs().Deregister(task.job.id, true, d.write())
		fail(t, err)
	}
	d.awaitNothing(names)
}

// awaitNothing has Nomad collect its garbage until no trace of any of the names is left, nor
// a shepherd, nor an allocation's directory. Of what stays it tells all that is known.
func (d *driven) awaitNothing(names []string) {
	d.t.Helper()
	allocs := filepath.Join(d.agent.Dir, "data", "alloc")
	gone := false
	defer func() {
		if !gone {
			d.tellOf(allocs)
		}
	}()
	d.await("every trace to go", func() error {
		fail(d.t, d.client.System().GarbageCollect())
		d.removeGivenUp()
		errs := []error{noneOf(shepherdsIn(d.t, d.state))}
		for _, dir := range []string{d.state, allocs} {
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) > 0 {
				errs = append(errs, fmt.Errorf("in %s there are %v, error %v", dir, entries, err))
			}
		}
		if found := tracesOf(d.t, names); len(found) > 0 {
			errs = append(errs, fmt.Errorf("there are %v", found))
		}
		return errors.Join(errs...)
	})
	gone = true
}

// givenUp is what Nomad logs of an allocation that it leaves behind for good, since it could not
// unmount a task's secrets at the first try. It happens with any driver, on a busy machine to
// some three of a thousand allocations of raw_exec.
var givenUp = regexp.MustCompile(
	`failed to remove the secret dir "([^"]+)": .*device or resource busy`)

// removeGivenUp removes what Nomad has given up, unless somebody still uses it: then it stays,
// for the test to find.
func (d *driven) removeGivenUp() {
	d.t.Helper()
	for _, line := range readLines(d.agent.Log()) {
		found := givenUp.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		secrets := found[1]
		if unix.Unmount(secrets, 0) == nil { // else it is busy, or was removed before
			alloc := filepath.Dir(filepath.Dir(secrets))
			d.t.Log("Nomad has given up", alloc)
			fail(d.t, os.RemoveAll(alloc))
		}
	}
}

// tellOf shows what is in each directory below dir, and what the agent has logged of it.
func (d *driven) tellOf(dir string) {
	d.t.Helper()
	entries, err := os.ReadDir(dir)
	fail(d.t, err)
	for _, entry := range entries {
		_ = filepath.WalkDir(filepath.Join(dir, entry.Name()),
			func(path string, _ fs.DirEntry, err error) error {
				d.t.Log(path, err)
				return nil
			})
		for _, line := range readLines(d.agent.Log()) {
			if strings.Contains(line, entry.Name()) {
				d.t.Log(line)
			}
		}
	}
}

// tracesOf are the cgroups of every hierarchy, mounts and network namespaces with one of the
// names in theirs.
func tracesOf(t testing.TB, names []string) (found []string) {
	t.Helper()
	named := func(path string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(path, name) })
	}
	for _, root := range []string{"/sys/fs/cgroup", "/run/netns"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // another's, just gone
			case err != nil:
				return err
			}
			if named(entry.Name()) {
				found = append(found, path)
			}
			return nil
		})
		fail(t, err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	fail(t, err)
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 1 && named(fields[1]) {
			found = append(found, fields[1])
		}
	}
	return found
}

// purgeAll ends everything that is left on the agent, and looks that all of it goes. What
// does not is ended with the test.
func (d *driven) purgeAll() {
	d.t.Helper()
	defer func() {
		for _, pid := range shepherdsIn(d.t, d.state) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended just now
		}
	}()
	jobs, _, err := d.client.Jobs().List(d.query())
	fail(d.t, err)
	for _, job := range jobs {
		_, _, err := d.client.Jobs().Deregister(job.ID, true, d.write())
		fail(d.t, err)
	}
	stubs, _, err := d.client.Allocations().List(d.query())
	fail(d.t, err)
	var allocs []string
	for _, stub := range stubs {
		allocs = append(allocs, stub.ID)
	}
	d.awaitNothing(allocs)
}
