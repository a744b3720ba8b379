package devnomad

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	nomad "github.com/hashicorp/nomad/api"
)

// trackedVersions is Nomad's job_tracked_versions.
const trackedVersions = 6

func jobKey(j *nomad.Job) key { return key{*j.Namespace, *j.ID} }

// copyJob copies what a change of count, status or index touches; the rest is
// shared, since stored jobs are never changed in place.
func copyJob(j *nomad.Job) *nomad.Job {
	c := *j
	c.TaskGroups = make([]*nomad.TaskGroup, len(j.TaskGroups))
	for i, g := range j.TaskGroups {
		gc := *g
		c.TaskGroups[i] = &gc
	}
	return &c
}

func groupOf(j *nomad.Job, name string) *nomad.TaskGroup {
	for _, g := range j.TaskGroups {
		if *g.Name == name {
			return g
		}
	}
	return nil
}

// enforceIndex is the check-and-set of a registration.
func enforceIndex(j *nomad.Job, index uint64) error {
	const prefix = "Enforcing job modify index"
	switch {
	case j == nil && index != 0:
		return fmt.Errorf("%s %d: job does not exist", prefix, index)
	case j != nil && index == 0:
		return fmt.Errorf("%s 0: job already exists", prefix)
	case j != nil && index != *j.JobModifyIndex:
		return fmt.Errorf("%s %d: job exists with conflicting job modify index: %d",
			prefix, index, *j.JobModifyIndex)
	}
	return nil
}

// registerJob stores the next version of a job; old is what it replaces or nil.
func (t *tx) registerJob(j, old *nomad.Job) {
	k := jobKey(j)
	j.CreateIndex, j.Version = new(t.index), new(uint64(0))
	if old != nil {
		j.CreateIndex = old.CreateIndex
		j.Version = new(*old.Version + 1)
	}
	j.JobModifyIndex, j.ModifyIndex = new(t.index), new(t.index)
	j.Stable = new(false)
	t.stampPolicies(j, old)
	j.Status = new(t.jobStatus(j))
	if old == nil {
		j.Status = new("pending")
	}
	t.putJob(j)
	t.versions[k] = slices.Insert(t.versions[k], 0, j)
	if len(t.versions[k]) > trackedVersions {
		t.versions[k] = t.versions[k][:trackedVersions]
	}
	t.touchSummary(k)
}

func (t *tx) putJob(j *nomad.Job) {
	t.jobs[jobKey(j)] = j
	t.touch(tableJobs)
	t.emit(jobEvent(j, false))
}

// refreshStatus derives a job's status anew and stores the job if it changed.
func (t *tx) refreshStatus(k key) {
	j := t.jobs[k]
	if j == nil {
		return
	}
	status := t.jobStatus(j)
	if status == *j.Status {
		return
	}
	c := copyJob(j)
	c.Status, c.ModifyIndex = &status, new(t.index)
	t.putJob(c)
	t.replaceVersion(c)
}

func (t *tx) replaceVersion(j *nomad.Job) {
	for i, v := range t.versions[jobKey(j)] {
		if *v.Version == *j.Version {
			t.versions[jobKey(j)][i] = j
		}
	}
}

// jobStatus is running while an allocation is not terminal, pending while an
// evaluation is not, dead after that. System jobs run until they are stopped.
func (s *store) jobStatus(j *nomad.Job) string {
	if *j.Type == "system" || j.Periodic != nil || j.ParameterizedJob != nil {
		if *j.Stop {
			return "dead"
		}
		return "running"
	}
	allocs, evals := s.jobAllocs(jobKey(j)), s.jobEvals(jobKey(j))
	switch {
	case slices.ContainsFunc(allocs, func(a *nomad.Allocation) bool { return !terminal(a) }):
		return "running"
	case slices.ContainsFunc(evals, func(e *nomad.Evaluation) bool { return !evalTerminal(e) }):
		return "pending"
	case len(allocs) > 0 || len(evals) > 0:
		return "dead"
	}
	return "pending"
}

// sameSpec says whether a registration would change nothing that a user wrote.
func sameSpec(old, j *nomad.Job) bool {
	return reflect.DeepEqual(bareSpec(old), bareSpec(j))
}

// bareSpec is a job as plain JSON without what the server fills in.
func bareSpec(j *nomad.Job) any {
	c := copyJob(j)
	c.Status, c.StatusDescription, c.Stable, c.Version, c.SubmitTime = nil, nil, nil, nil, nil
	c.CreateIndex, c.ModifyIndex, c.JobModifyIndex = nil, nil, nil
	for _, g := range c.TaskGroups {
		if g.Scaling != nil {
			p := *g.Scaling
			p.ID, p.CreateIndex, p.ModifyIndex = "", 0, 0
			g.Scaling = &p
		}
	}
	b, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	var out any
	if json.Unmarshal(b, &out) != nil {
		return nil
	}
	return out
}

// deregister stops a job, or forgets it with all its history.
func (t *tx) deregister(j *nomad.Job, purge bool) {
	k := jobKey(j)
	if !purge {
		c := copyJob(j)
		c.Stop, c.Version = new(true), new(*j.Version+1)
		c.ModifyIndex, c.JobModifyIndex = new(t.index), new(t.index)
		c.Status = new(t.jobStatus(c))
		t.disablePolicies(c)
		t.putJob(c)
		t.versions[k] = slices.Insert(t.versions[k], 0, c)
		t.touchSummary(k)
		return
	}
	t.forgetWork(k)
	delete(t.jobs, k)
	delete(t.versions, k)
	delete(t.scaled, k)
	delete(t.scaledAt, k)
	delete(t.summaryAt, k)
	t.touch(tableJobs)
	t.touch(tableSummaries)
	t.touch(tablePolicies)
	t.emit(jobEvent(j, true))
}

// forgetWork removes what a purged job leaves: its allocations and deployments
// are gone at once, without an event, and what was pending is over.
func (t *tx) forgetWork(k key) {
	for _, e := range t.jobEvals(k) {
		if e.Status == "pending" {
			t.setEval(e.ID, func(e *nomad.Evaluation) {
				e.Status, e.StatusDescription = "complete", "job "+k.id+" deleted"
			})
		}
	}
	for _, id := range t.byJob[k] {
		delete(t.allocs, id)
		t.touch(tableAllocs)
	}
	delete(t.byJob, k)
	for id, d := range t.deployments {
		if d.Namespace == k.ns && d.JobID == k.id {
			delete(t.deployments, id)
			t.touch(tableDeployments)
		}
	}
}
