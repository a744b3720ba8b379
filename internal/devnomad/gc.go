package devnomad

import (
	"os"
	"slices"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// Nomad's own garbage collection, with its default thresholds.
const (
	gcEvery  = 5 * time.Minute
	gcWork   = time.Hour     // terminal allocations and evaluations
	gcJobs   = 4 * time.Hour // dead jobs that nobody can start again by scaling
	typeGone = "JobBatchDeregistered"
)

// collect forgets what is over, once in a while; it is called when there is new
// work, so that a cluster at rest needs no timer for it.
func (c *Cluster) collect() {
	c.mu.Lock()
	now := time.Now()
	due := now.Sub(c.collected) >= gcEvery
	if due {
		c.collected = now
	}
	c.mu.Unlock()
	if !due {
		return
	}
	var gone []string
	_, err := c.store.commit(typeGone, func(t *tx) error {
		gone = t.collect()
		return nil
	})
	if err == nil {
		c.client.forget(gone)
	}
}

// collect removes old work and old jobs, and returns the allocations removed.
func (t *tx) collect() (gone []string) {
	for k, ids := range t.byJob {
		t.byJob[k] = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
			if !t.collectable(t.allocs[id]) {
				return false
			}
			gone = append(gone, id)
			delete(t.allocs, id)
			t.touch(tableAllocs)
			return true
		})
	}
	for k, ids := range t.evalsByJob {
		t.evalsByJob[k] = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
			e := t.evals[id]
			if !evalTerminal(e) || t.at.Sub(time.Unix(0, e.ModifyTime)) < gcWork {
				return false
			}
			delete(t.evals, id)
			t.touch(tableEvals)
			return true
		})
	}
	for _, k := range sortedKeys(t.jobs) {
		if t.jobCollectable(t.jobs[k]) {
			t.deregister(t.jobs[k], true)
		}
	}
	return gone
}

func (t *tx) collectable(a *nomad.Allocation) bool {
	over := clientTerminal(a) && (a.DesiredStatus == "stop" || a.NextAllocation != "")
	return over && t.at.Sub(time.Unix(0, a.ModifyTime)) >= gcWork
}

// jobCollectable jobs are dead and stopped, or dead batch jobs; a service job at
// count 0 stays.
func (t *tx) jobCollectable(j *nomad.Job) bool {
	old := t.at.Sub(time.Unix(0, *j.SubmitTime)) >= gcJobs
	batch := *j.Type == "batch" || *j.Type == "sysbatch"
	return old && *j.Status == "dead" && (*j.Stop || batch) && len(t.byJob[jobKey(j)]) == 0
}

// forget drops the node's side of collected allocations.
func (n *client) forget(ids []string) {
	for _, id := range ids {
		r := n.run(id)
		if r == nil {
			continue
		}
		n.mu.Lock()
		delete(n.runs, id)
		n.mu.Unlock()
		if err := os.RemoveAll(r.dir()); err != nil {
			n.c.log.Warn("allocation directory left behind", "alloc", id, "error", err)
		}
	}
}
