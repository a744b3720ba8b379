//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// checksSeen is how many results of a check, one a second, each sleeping task has to outlive.
var checksSeen = flag.Int("checks.seen", 20, "how many checks each sleeping task outlives")

// testChecks: Nomad's own checks of a shielded path, every second and with a check_restart
// that forgives nothing once the task has had time to start, neither wake a sleeping task nor
// find it ill; and a deployment that waits for them succeeds, though nobody has ever asked for
// the task.
func testChecks(t *testing.T, d *driven) {
	for _, c := range []struct {
		job    string
		config map[string]any
		depth  depth
		starts int // of its process, in all
	}{
		{"checked-frozen", map[string]any{"freeze_after": "500ms"}, frozen, 1},
		{"checked-parked", map[string]any{"freeze_after": "", "park_after": "500ms"}, parked, 1},
		{"checked-unborn", map[string]any{"start": "on_demand"}, parked, 0},
	} {
		t.Run(c.job, func(t *testing.T) {
			t.Parallel()
			d := d.in(t)
			c.config["listen"], c.config["shield"] = "http", []string{"/healthz"}
			d.register(drivenJob{id: c.job, config: c.config, edit: checked})
			d.awaitDeployment(c.job)
			d.awaitDepth(c.job, c.depth)
			d.watchChecks(c.job, c.depth)
			d.checkNeverRestarted(c.job)
			log, err := d.log(c.job)
			if n := strings.Count(log, "begins\n"); err != nil || n != c.starts {
				t.Errorf("its process was started %d times, not %d: %v", n, c.starts, err)
			}
			d.mustGet(c.job, "/")
		})
	}
}

// checked gives a job a check of /healthz, and has its deployments wait for it.
func checked(job *nomad.Job) {
	job.TaskGroups[0].Services = []*nomad.Service{{Name: *job.ID, PortLabel: "http",
		Provider: "nomad", Checks: []nomad.ServiceCheck{{Type: "http", Path: "/healthz",
			Interval: time.Second, Timeout: 5 * time.Second, CheckRestart: &nomad.CheckRestart{
				Limit: 1, Grace: new(10 * time.Second)}}}}}
	job.Update = &nomad.UpdateStrategy{MaxParallel: new(1), HealthCheck: new("checks"),
		MinHealthyTime: new(time.Second), HealthyDeadline: new(20 * time.Second),
		ProgressDeadline: new(30 * time.Second)}
}

// awaitDeployment waits until the job's newest deployment has succeeded.
func (d *driven) awaitDeployment(job string) {
	d.t.Helper()
	d.await("the deployment of "+job, func() error {
		deployment, _, err := d.client.Jobs().LatestDeployment(job, d.query())
		if err != nil || deployment == nil {
			return fmt.Errorf("there is none: %v", err)
		}
		switch deployment.Status {
		case "successful":
			return nil
		case "failed":
			d.t.Fatalf("the deployment of %s failed: %s\n%s", job, deployment.StatusDescription,
				eventsOf(d.task(job)))
		}
		return fmt.Errorf("it is %s: %s", deployment.Status, deployment.StatusDescription)
	})
}

// watchChecks looks until enough results were seen whether each of them is well, and the task
// stays as deep asleep as it is.
func (d *driven) watchChecks(job string, want depth) {
	d.t.Helper()
	alloc := d.alloc(job).ID
	before := turnsOf(d.t, processesOf(d.t, alloc))
	seen := map[int64]bool{}
	what := fmt.Sprintf("%d results of the check of %s", *checksSeen, job)
	within := time.Minute + 2*time.Duration(*checksSeen)*time.Second
	d.awaitFor(within, what, func() error {
		checks, err := d.client.Allocations().Checks(alloc, d.query())
		fail(d.t, err)
		for _, check := range checks {
			if check.Status != "success" {
				d.t.Fatalf("the check is %s: %s", check.Status, check.Output)
			}
			seen[check.Timestamp] = true
		}
		if got := depthOf(d.t, alloc); got != want {
			d.t.Fatalf("after %d checks it is %s", len(seen), got)
		}
		if len(seen) < *checksSeen {
			return fmt.Errorf("there were %d", len(seen))
		}
		return nil
	})
	if after := turnsOf(d.t, processesOf(d.t, alloc)); after != before {
		d.t.Errorf("its processes ran %d times while they were frozen", after-before)
	}
}
