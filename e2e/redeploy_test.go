//go:build e2e

package e2e

import (
	"net/http"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/api/wire"
)

// field case 13: a group that had three allocations wakes with three.
// field case 14: a redeploy while it sleeps is one activity with a new count, and is never
// fought: after its idle period the group sleeps and remembers the new count.
func TestRedeploy_whileAsleep_newCountAndOneIdlePeriod(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		spec := jobSpec{id: "redeploy", app: "web", count: 3, idleAfter: 2 * time.Second}
		c.register(t, spec)
		d := startDoze(t, c)
		d.waitState(spec.id, wire.Asleep)
		d.mustGet(spec.host(), "/")
		if count := c.count(t, spec.id, "web"); count != 3 {
			t.Errorf("woken with a count of %d, not the 3 from before", count)
		}
		d.waitState(spec.id, wire.Asleep)
		spec.count, spec.env = 2, map[string]string{"VERSION": "2"}
		c.register(t, spec)
		d.waitState(spec.id, wire.Ready)
		if count := c.count(t, spec.id, "web"); count != 2 {
			t.Errorf("the redeploy asked for 2, the count is %d", count)
		}
		d.waitState(spec.id, wire.Asleep)
		d.mustGet(spec.host(), "/")
		if count := c.count(t, spec.id, "web"); count != 2 {
			t.Errorf("woken with a count of %d, not the redeploy's 2", count)
		}
	})
}

// A redeploy that takes the count to 0 under a live group is healed by the next request.
func TestRedeploy_toZeroWhileReady_nextRequestHeals(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		spec := jobSpec{id: "healed", app: "web", idleAfter: time.Minute}
		c.register(t, spec)
		d := startDoze(t, c)
		d.mustGet(spec.host(), "/")
		spec.env = map[string]string{"VERSION": "2"}
		c.register(t, spec) // born asleep: a count of 0
		for range 5 {
			got, err := d.get(spec.host(), "/")
			if err != nil || got.status != http.StatusOK {
				t.Errorf("status %d, error %v: %.100s", got.status, err, got.body)
			}
		}
	})
}

// field case 16: waking and sleeping one group of a job leaves the other's allocation alone.
// field case 15: with Nomad's default update block the wake begins a deployment, which
// blocks scaling: the second group is woken all the same, and both sleep later.
func TestMultiGroup_oneGroupWakes_otherKeepsItsAllocation(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		spec := jobSpec{id: "multi", app: "web", deploys: true, idleAfter: 4 * time.Second}
		job := c.job(t, spec)
		other := spec
		other.id, other.idleAfter = "other", time.Minute
		second := other.group(t)
		second.Name = new("second")
		job.AddTaskGroup(second)
		_, _, err := c.client.Jobs().Register(job, c.write())
		fail(t, err)
		t.Cleanup(func() {
			_, _, err := c.client.Jobs().Deregister(spec.id, true, c.write())
			fail(t, err)
		})
		d := startDoze(t, c)
		kept := d.mustGet("other.localhost", "/")
		got := d.mustGet("multi.localhost", "/") // during the first wake's deployment
		if got.took > patience {
			t.Errorf("the second group's wake took %s", got.took)
		}
		d.waitState(spec.id, wire.Asleep)
		d.mustGet("multi.localhost", "/")
		if again := d.mustGet("other.localhost", "/"); again.body != kept.body {
			t.Errorf("the other group was moved from %s to %s", kept.body, again.body)
		}
		stubs, _, err := c.client.Jobs().Allocations(spec.id, false, c.query())
		fail(t, err)
		if n := restarts(stubs, "second"); n != 0 {
			t.Errorf("the other group's task was restarted %d times", n)
		}
	})
}

func restarts(stubs []*nomad.AllocationListStub, group string) (n uint64) {
	for _, stub := range stubs {
		for _, state := range stub.TaskStates {
			if stub.TaskGroup == group {
				n += state.Restarts
			}
		}
	}
	return n
}
