package devnomad

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// updates says whether changes of a group are tracked by a deployment.
func updates(j *nomad.Job, g *nomad.TaskGroup) bool {
	return *j.Type == "service" && g.Update != nil && deref(g.Update.MaxParallel) > 0
}

var activeDeployment = map[string]bool{
	"running": true, "paused": true, "blocked": true, "unblocking": true,
	"initializing": true, "pending": true,
}

// latestDeployment is the newest of a job, over all its versions, or nil.
func (s *store) latestDeployment(k key) *nomad.Deployment {
	var out *nomad.Deployment
	for _, d := range s.deployments {
		if d.Namespace == k.ns && d.JobID == k.id && (out == nil || d.CreateIndex > out.CreateIndex) {
			out = d
		}
	}
	return out
}

// deploying says whether scaling is blocked by an active deployment.
func (s *store) deploying(j *nomad.Job) bool {
	d := s.latestDeployment(jobKey(j))
	return d != nil && activeDeployment[d.Status] && d.JobCreateIndex == *j.CreateIndex
}

func copyDeployment(d *nomad.Deployment) *nomad.Deployment {
	c := *d
	c.TaskGroups = maps.Clone(d.TaskGroups)
	for g, s := range c.TaskGroups {
		sc := *s
		c.TaskGroups[g] = &sc
	}
	return &c
}

// currentDeployment finds the active deployment of the job's version and
// cancels one of an older version or of a job that stopped.
func (t *tx) currentDeployment(p *plan, k key) *nomad.Deployment {
	d := t.latestDeployment(k)
	if d == nil || !activeDeployment[d.Status] {
		return nil
	}
	j := p.job
	if j != nil && !*j.Stop && d.JobVersion == *j.Version && d.JobCreateIndex == *j.CreateIndex {
		p.deployment = d.ID
		return d
	}
	c := copyDeployment(d)
	c.Status, c.StatusDescription = "cancelled", "Cancelled due to newer version of job"
	if j == nil || *j.Stop {
		c.StatusDescription = "Cancelled because job is stopped"
	}
	p.oldDeploy = c
	return nil
}

// joinDeployment adds the group to the plan's deployment, made where needed.
func (r *groupPlan) joinDeployment(total int) {
	p, name := r.plan, *r.group.Name
	if total == 0 || r.current != nil && r.current.TaskGroups[name] != nil {
		return
	}
	if p.deploy == nil {
		p.deploy = r.newDeployment()
		if r.current != nil {
			p.deploy = copyDeployment(r.current)
		}
		p.deployment = p.deploy.ID
	}
	u := r.group.Update
	p.deploy.TaskGroups[name] = &nomad.DeploymentState{
		AutoRevert: deref(u.AutoRevert), ProgressDeadline: deref(u.ProgressDeadline),
		DesiredTotal: total,
	}
}

func (r *groupPlan) newDeployment() *nomad.Deployment {
	j := r.plan.job
	return &nomad.Deployment{
		ID: newID(), Namespace: *j.Namespace, JobID: *j.ID, JobVersion: *j.Version,
		JobModifyIndex: *j.ModifyIndex, JobSpecModifyIndex: *j.JobModifyIndex,
		JobCreateIndex: *j.CreateIndex, TaskGroups: map[string]*nomad.DeploymentState{},
		Status: "running", StatusDescription: "Deployment is running",
	}
}

// endDeployment marks a deployment successful once all of it is healthy and
// this plan adds nothing to it.
func (t *tx) endDeployment(p *plan, d *nomad.Deployment) {
	if d == nil || p.deploy != nil || len(p.place) > 0 || len(p.failed) > 0 {
		return
	}
	for name, s := range d.TaskGroups {
		if s.HealthyAllocs < s.DesiredTotal || t.hasOutdated(p, name) {
			return
		}
	}
	c := copyDeployment(d)
	c.Status, c.StatusDescription = "successful", "Deployment completed successfully"
	p.oldDeploy = c
	j := copyJob(p.job)
	j.Stable, j.ModifyIndex = new(true), new(t.index)
	t.putJob(j)
	t.replaceVersion(j)
}

// hasOutdated says whether allocations of a group still run an older spec.
func (t *tx) hasOutdated(p *plan, group string) bool {
	return slices.ContainsFunc(t.jobAllocs(jobKey(p.job)), func(a *nomad.Allocation) bool {
		return a.TaskGroup == group && !terminal(a) && *a.Job.Version != *p.job.Version
	})
}

// countPlaced notes a plan's placements in their deployment.
func (t *tx) countPlaced(p *plan) {
	placed := map[string]int{}
	for _, id := range p.inPlace {
		if a := t.allocs[id]; a.DeploymentID != p.deployment {
			placed[a.TaskGroup]++
		}
	}
	for _, pl := range p.place {
		placed[*pl.group.Name]++
	}
	for group, n := range placed {
		t.changeDeployment(p.deployment, group, func(s *nomad.DeploymentState) {
			s.PlacedAllocs += n
			if s.RequireProgressBy.IsZero() {
				s.RequireProgressBy = t.at.Add(s.ProgressDeadline)
			}
		})
	}
}

// countHealth notes a change of an allocation's health in its deployment.
func (t *tx) countHealth(id, group string, healthy bool) {
	t.changeDeployment(id, group, func(s *nomad.DeploymentState) {
		if healthy {
			s.HealthyAllocs++
			s.RequireProgressBy = t.at.Add(s.ProgressDeadline)
		} else {
			s.UnhealthyAllocs++
		}
	})
}

func (t *tx) changeDeployment(id, group string, change func(*nomad.DeploymentState)) {
	d := t.deployments[id]
	if d == nil || d.TaskGroups[group] == nil {
		return
	}
	c := copyDeployment(d)
	change(c.TaskGroups[group])
	t.putDeployment(c)
}

func newerDeployment(a, b *nomad.Deployment) int { return newerFirst(a.CreateIndex, b.CreateIndex) }

// serveDeployments serves GET /v1/deployments.
func (c *Cluster) serveDeployments(w http.ResponseWriter, r *http.Request) (any, error) {
	return c.read(w, r, func(s *store, q query) (found, error) {
		if err := q.require("read-job"); err != nil {
			return found{}, err
		}
		out := []*nomad.Deployment{}
		for _, d := range s.deployments {
			if q.within(d.Namespace, "read-job") && strings.HasPrefix(d.ID, q.prefix) {
				out = append(out, d)
			}
		}
		slices.SortFunc(out, newerDeployment)
		return found{obj: out, index: max(1, s.tables[tableDeployments])}, nil
	})
}

// serveDeployment serves GET /v1/deployment/:id, and /fail below it.
func (c *Cluster) serveDeployment(w http.ResponseWriter, r *http.Request) (any, error) {
	path := strings.TrimPrefix(r.URL.Path, "/v1/deployment/")
	if id, ok := strings.CutPrefix(path, "fail/"); ok {
		return c.failDeployment(w, r, id)
	}
	id, _ := strings.CutPrefix(path, "allocations/")
	allocs := id != path
	return c.read(w, r, func(s *store, q query) (found, error) {
		d, ns := s.deployments[id], q.ns
		if d != nil {
			ns = d.Namespace
		}
		switch {
		case !q.grants.allow(ns, "read-job"):
			return found{}, errForbidden
		case d == nil:
			return found{index: max(1, s.tables[tableDeployments]), missing: "deployment not found"}, nil
		case allocs:
			return found{obj: deploymentAllocs(s, id), index: s.tables[tableAllocs]}, nil
		}
		return found{obj: d, index: d.ModifyIndex}, nil
	})
}

func deploymentAllocs(s *store, id string) []*nomad.AllocationListStub {
	out := []*nomad.AllocationListStub{}
	for _, a := range s.allocs {
		if a.DeploymentID == id {
			out = append(out, allocStub(a, false, true))
		}
	}
	sortStubs(out)
	return out
}

// readJobDeployments serves GET /v1/job/:id/deployments.
func readJobDeployments(s *store, _ query, k key, _ *http.Request) found {
	out := []*nomad.Deployment{}
	for _, d := range s.deployments {
		if d.Namespace == k.ns && d.JobID == k.id {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, newerDeployment)
	return found{obj: out, index: max(1, s.tables[tableDeployments])}
}

// readJobDeployment serves GET /v1/job/:id/deployment: null where there is none.
func readJobDeployment(s *store, _ query, k key, _ *http.Request) found {
	return found{obj: s.latestDeployment(k), index: max(1, s.tables[tableDeployments])}
}
