//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	nomad "github.com/hashicorp/nomad/api"
)

// testUpdate: what Nomad changes in place leaves a task asleep; what it replaces a task for
// ends it as any other.
func testUpdate(t *testing.T, d *driven) {
	for _, depth := range []depth{frozen, parked} {
		t.Run(string(depth), func(t *testing.T) {
			t.Parallel()
			d.in(t).testUpdate(depth)
		})
	}
	t.Run("blue and green", func(t *testing.T) {
		t.Parallel()
		d.in(t).testBlueGreen()
	})
}

func (d *driven) testUpdate(depth depth) {
	job := drivenJob{id: "update-" + string(depth), config: map[string]any{"listen": "http"}}
	d.run(job)
	first, _ := d.whoAnswers(job.id)
	d.bringTo(job.id, depth)
	before := d.alloc(job.id)
	turns := turnsOf(d.t, processesOf(d.t, before.ID))

	job.edit = func(job *nomad.Job) {
		scaled(job)
		job.TaskGroups[0].Scaling.Enabled = new(false) // nobody but Nomad is to act on it
		job.TaskGroups[0].RestartPolicy.Attempts = new(1)
	}
	if plan := d.plan(job); plan != "in-place" {
		d.t.Errorf("the plan is %s", plan)
	}
	d.submit(job)
	d.await("the update", func() error {
		if now := d.alloc(job.id); now.Job == nil || *now.Job.Version == *before.Job.Version {
			return errors.New("the allocation is of the old version")
		}
		return nil
	})
	if now := d.alloc(job.id); now.ID != before.ID || depthOf(d.t, now.ID) != depth {
		d.t.Errorf("in place it became allocation %s, %s", now.ID, depthOf(d.t, now.ID))
	}
	if now := turnsOf(d.t, processesOf(d.t, before.ID)); now != turns {
		d.t.Errorf("its processes ran %d times", now-turns)
	}

	inPlace := job.edit
	job.edit = func(job *nomad.Job) { // it is in the task's environment
		inPlace(job)
		job.Meta = map[string]string{"new": "1"}
	}
	if plan := d.plan(job); plan != "destructive" {
		d.t.Errorf("the plan is %s", plan)
	}
	d.submit(job)
	d.await("the replacement", func() error {
		if d.alloc(job.id).ID == before.ID {
			return errors.New("the allocation is the old one")
		}
		return nil
	})
	d.awaitOther(job.id, first)
	d.awaitPolite(before.ID)
}

// plan says what Nomad would do to the job's allocation.
func (d *driven) plan(j drivenJob) string {
	d.t.Helper()
	plan, _, err := d.client.Jobs().Plan(d.job(j), true, d.write())
	fail(d.t, err)
	switch updates := plan.Annotations.DesiredTGUpdates["web"]; {
	case updates.DestructiveUpdate == 1:
		return "destructive"
	case updates.InPlaceUpdate == 1:
		return "in-place"
	default:
		return fmt.Sprintf("%+v", updates)
	}
}

// awaitPolite waits until an allocation's task has ended by itself, and no process is left.
func (d *driven) awaitPolite(allocID string) {
	d.t.Helper()
	d.await("the end of "+allocID, func() error {
		alloc, _, err := d.client.Allocations().Info(allocID, d.query())
		fail(d.t, err)
		events := eventsOf(alloc.TaskStates["app"])
		if !strings.Contains(events, "Terminated: Exit Code: 0") {
			return fmt.Errorf("its events are\n%s", events)
		}
		return noneOf(processesOf(d.t, allocID))
	})
}

// testBlueGreen: while a new version is tried beside the old one the old one sleeps on; the
// promotion ends it.
func (d *driven) testBlueGreen() {
	blueGreen := func(job *nomad.Job) {
		checked(job)
		job.TaskGroups[0].Count = new(2)
		job.Update.Canary, job.Update.AutoPromote = new(2), new(false)
	}
	job := drivenJob{id: "colours", edit: blueGreen, config: map[string]any{"listen": "http",
		"freeze_after": "500ms", "shield": []string{"/healthz"}}}
	d.register(job)
	d.awaitDeployment(job.id)
	blue := d.running(job.id)
	if len(blue) != 2 {
		d.t.Fatalf("there are %d allocations", len(blue))
	}
	d.awaitAll(blue, frozen)

	job.env = map[string]string{"COLOUR": "green"}
	d.submit(job)
	var green []string
	d.await("two green ones to be healthy", func() error {
		deployment, _, err := d.client.Jobs().LatestDeployment(job.id, d.query())
		fail(d.t, err)
		group := deployment.TaskGroups["web"]
		green = group.PlacedCanaries
		if len(green) != 2 || group.HealthyAllocs != 2 {
			return fmt.Errorf("of %v %d are healthy", green, group.HealthyAllocs)
		}
		return nil
	})
	d.awaitAll(green, frozen)
	d.awaitAll(blue, frozen)
	deployment, _, err := d.client.Jobs().LatestDeployment(job.id, d.query())
	fail(d.t, err)
	_, _, err = d.client.Deployments().PromoteAll(deployment.ID, d.write())
	fail(d.t, err)
	d.awaitDeployment(job.id)
	for _, alloc := range blue {
		d.awaitPolite(alloc)
	}
	d.awaitAll(green, frozen)
}

// running are the job's allocations that run.
func (d *driven) running(job string) (ids []string) {
	d.t.Helper()
	stubs, _, err := d.client.Jobs().Allocations(job, false, d.query())
	fail(d.t, err)
	for _, stub := range stubs {
		if stub.ClientStatus == "running" {
			ids = append(ids, stub.ID)
		}
	}
	return ids
}

// awaitAll waits until each of the allocations is so deep asleep.
func (d *driven) awaitAll(allocs []string, want depth) {
	d.t.Helper()
	for _, alloc := range allocs {
		d.await(alloc+" to be "+string(want), func() error {
			if got := depthOf(d.t, alloc); got != want {
				return fmt.Errorf("it is %s", got)
			}
			return nil
		})
	}
}
