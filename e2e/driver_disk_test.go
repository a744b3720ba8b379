//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	nomad "github.com/hashicorp/nomad/api"
)

// smallDisk puts a file system of its own over a directory, until the test ends.
func smallDisk(t testing.TB, dir, options string) {
	t.Helper()
	fail(t, unix.Mount("tmpfs", dir, "tmpfs", 0, options))
	t.Cleanup(func() { fail(t, unix.Unmount(dir, unix.MNT_DETACH)) })
}

// fillDisk leaves no byte free, until the returned function makes room.
func fillDisk(t testing.TB, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "fill")
	file, err := os.Create(path)
	fail(t, err)
	for page := make([]byte, 4096); err == nil; {
		_, err = file.Write(page)
	}
	fail(t, file.Close())
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%s is not full: %v", dir, err)
	}
	return func() { fail(t, os.Remove(path)) }
}

// testFullLogs: a task whose logs have no room left goes on, sleeps and wakes, and its log
// tells later what it lacks.
func (d *driven) testFullLogs() {
	const job = "full-logs"
	d.run(drivenJob{id: job, noLogs: true, config: map[string]any{"listen": "http",
		"freeze_after": "", "logs": []map[string]any{{}}}})
	before, _ := d.whoAnswers(job)
	alloc := d.alloc(job)
	logs := filepath.Join(d.agent.Dir, "data", "alloc", alloc.ID, "alloc", "logs")
	smallDisk(d.t, logs, "size=64k,mode=777")
	fail(d.t, d.client.Allocations().Restart(alloc, "app", d.query())) // to have its logs there
	life := d.awaitOther(job, before)
	d.awaitLog(job, "begins")
	empty := fillDisk(d.t, logs)
	d.mustGet(job, "/log?line="+strings.Repeat("x", 8<<10)) // more than the rest of a page
	d.awaitEvent(job, "cannot write the log stdout: no space left on device")
	for _, depth := range []depth{frozen, awake} {
		d.bringTo(job, depth)
	}
	if now, _ := d.whoAnswers(job); now != life {
		d.t.Errorf("the process from %s answers, not %s", now, life)
	}
	empty()
	d.await("the log to be written again", func() error {
		d.mustGet(job, "/log?line=there-is-room")
		log, err := d.log(job)
		if err == nil && !strings.HasSuffix(log, "there-is-room\n") {
			err = errors.New("it is not yet")
		}
		return err
	})
	d.awaitLog(job, "bytes of this log are lost: no space left on device]")
	d.awaitEvent(job, "the log stdout can be written again")
}

// testFullNomadLogs: Nomad's own collector gives up when there is no room left, and a task dies
// of the next line that it writes. Why, its events tell.
func (d *driven) testFullNomadLogs() {
	const job = "full-nomad-logs"
	d.run(drivenJob{id: job, config: map[string]any{"listen": "http", "freeze_after": ""},
		edit: func(job *nomad.Job) {
			job.TaskGroups[0].Tasks[0].LogConfig = &nomad.LogConfig{MaxFiles: new(2),
				MaxFileSizeMB: new(1)}
		}})
	d.whoAnswers(job)
	logs := filepath.Join(d.agent.Dir, "data", "alloc", d.alloc(job).ID, "alloc", "logs")
	smallDisk(d.t, logs, "size=64k,mode=777")
	line := "/log?line=" + strings.Repeat("x", 64<<10)
	d.await("the task to die of its log, and an event to say so", func() error {
		_, _ = d.get(job, line) // in the end there is nobody to ask
		events := eventsOf(d.task(job))
		if !strings.Contains(events, "nobody reads its log any more; Nomad stops to when the "+
			"allocation's disk is full") {
			return fmt.Errorf("its events are\n%s", events)
		}
		return nil
	})
	d.awaitEvent(job, "Signal: 13")
}

// testFullStateDir: a task that can't be started since the state directory is full says so,
// and starts when there is room.
func testFullStateDir(t *testing.T, d *driven) {
	const job = "full-state"
	// What is in the directory can't be reached below the small disk.
	d.awaitNothing(nil)
	smallDisk(t, d.state, "nr_inodes=2,mode=700") // the root's, and one more
	fill := filepath.Join(d.state, "fill")
	fail(t, os.WriteFile(fill, nil, 0o600))
	d.register(drivenJob{id: job, config: map[string]any{"listen": "http"},
		edit: func(job *nomad.Job) {
			job.TaskGroups[0].RestartPolicy = &nomad.RestartPolicy{Attempts: new(50),
				Interval: new(time.Minute), Delay: new(250 * time.Millisecond), Mode: new("fail")}
		}})
	d.awaitEvent(job, "no space left on device; state_dir "+d.state+" is full")
	if state := d.task(job).State; state != "pending" {
		t.Errorf("a task that can't be started is %s", state)
	}
	fail(t, unix.Mount("", d.state, "", unix.MS_REMOUNT, "nr_inodes=64,mode=700"))
	fail(t, os.Remove(fill))
	d.whoAnswers(job)
	alloc := d.alloc(job).ID
	_, _, err := d.client.Jobs().Deregister(job, true, d.write())
	fail(t, err)
	d.awaitNothing([]string{alloc}) // before its disk goes
}
