//go:build e2e

package e2e

import (
	"fmt"
	"syscall"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// testRestart: `nomad alloc restart` gives a task at whatever depth another process in the
// same allocation, and its log goes on.
func (d *driven) testRestart() {
	for _, depth := range []depth{awake, frozen, parked} {
		before, _ := d.whoAnswers("life")
		d.bringTo("life", depth)
		alloc := d.alloc("life")
		fail(d.t, d.client.Allocations().Restart(alloc, "app", d.query()))
		d.awaitOther("life", before)
		if now := d.alloc("life"); now.ID != alloc.ID {
			d.t.Errorf("%s: the allocation is %s, not %s", depth, now.ID, alloc.ID)
		}
		d.mustGet("life", "/log?line=after-"+string(depth))
		d.awaitLog("life", "after-"+string(depth))
	}
}

// testRestartBlock: a task that has failed is restarted as the job's restart block says, awake
// or frozen as it was.
func (d *driven) testRestartBlock() {
	d.run(drivenJob{id: "phoenix", config: map[string]any{"listen": "http", "freeze_after": ""},
		edit: func(job *nomad.Job) {
			job.TaskGroups[0].RestartPolicy = &nomad.RestartPolicy{Attempts: new(2),
				Interval: new(time.Minute), Delay: new(100 * time.Millisecond), Mode: new("fail")}
		}})
	alloc := d.alloc("phoenix").ID
	first, _ := d.whoAnswers("phoenix")
	d.mustGet("phoenix", "/exit?code=3&after=50ms")
	second := d.awaitOther("phoenix", first)
	d.awaitEvent("phoenix", "Exit Code: 3")
	d.sleep("phoenix", "SIGSTOP", frozen)
	fail(d.t, syscall.Kill(processesOf(d.t, alloc)[0], syscall.SIGKILL))
	d.awaitOther("phoenix", second)
	d.awaitEvent("phoenix", "Exit Code: 137, Signal: 9")
	d.await("the restarts to be counted", func() error {
		if state := d.task("phoenix"); state.Restarts != 2 || d.alloc("phoenix").ID != alloc {
			return fmt.Errorf("it was restarted %d times: %s", state.Restarts, eventsOf(state))
		}
		return nil
	})
}

// awaitOther waits until another process answers, and returns which.
func (d *driven) awaitOther(job, before string) (now string) {
	d.t.Helper()
	d.await("another process of "+job, func() error {
		if now, _ = d.whoAnswers(job); now == before {
			return fmt.Errorf("the process from %s still answers", now)
		}
		return nil
	})
	return now
}
