package devnomad

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	nomad "github.com/hashicorp/nomad/api"
)

// trackedEvents is how many scaling events Nomad keeps of a group.
const trackedEvents = 20

// scale serves PUT /v1/job/:id/scale.
func (c *Cluster) scale(w http.ResponseWriter, r *http.Request, id string) (any, error) {
	var req nomad.ScalingRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	if target := req.Target["Job"]; target != "" && target != id {
		return nil, fail(http.StatusBadRequest, "job ID in payload did not match URL")
	}
	g, err := c.resolve(r)
	if err != nil {
		return nil, err
	}
	k := key{namespaceOf(r), id}
	if !g.allow(k.ns, "scale-job", "submit-job") {
		return nil, errForbidden
	}
	if err := checkScaling(&req, k.ns); err != nil {
		return nil, err
	}
	out, err := c.applyScaling(k, &req)
	if err != nil {
		return nil, err
	}
	c.scheduler.enqueue(k, out.EvalID)
	setIndex(w, out.Index)
	return out, nil
}

func checkScaling(req *nomad.ScalingRequest, ns string) error {
	switch target := req.Target["Namespace"]; {
	case target != "" && target != ns:
		return fail(http.StatusBadRequest, "namespace in payload did not match header")
	case req.Target["Group"] == "":
		return fail(http.StatusBadRequest, "missing task group name for scaling action")
	case req.Count != nil && *req.Count < 0:
		return fail(http.StatusBadRequest, "scaling action count can't be negative")
	case req.Count != nil && req.Error:
		return fail(http.StatusBadRequest,
			"scaling action should not contain count if error is true")
	}
	return nil
}

// applyScaling is three operations, as in Nomad: the job, its evaluation, and
// the scaling event. Another one may come between; the first carries the job's
// index and fails then.
func (c *Cluster) applyScaling(k key, req *nomad.ScalingRequest) (*jobReply, error) {
	j := c.job(k)
	if j == nil {
		return nil, fail(http.StatusNotFound, "job %q not found", k.id)
	}
	if *j.Type == "system" && deref(req.Count) > 1 {
		return nil, fail(http.StatusBadRequest,
			`jobs of type "system" can only be scaled between 0 and 1`)
	}
	group := groupOf(j, req.Target["Group"])
	if group == nil {
		return nil, fail(http.StatusBadRequest,
			"task group %q specified for scaling does not exist in job", req.Target["Group"])
	}
	out := &jobReply{KnownLeader: true, JobModifyIndex: *j.ModifyIndex}
	ev := nomad.ScalingEvent{
		Count: req.Count, PreviousCount: int64(*group.Count), Error: req.Error,
		Message: req.Message, Meta: req.Meta, Time: uint64(c.now().UnixNano()),
	}
	if req.Count != nil {
		if err := c.setCount(j, group, req, out); err != nil {
			return nil, err
		}
		ev.EvalID = &out.EvalID
	}
	index, err := c.store.commit("", func(t *tx) error {
		ev.CreateIndex = t.index
		t.addScalingEvent(k, *group.Name, ev)
		return nil
	})
	out.Index = index
	return out, err
}

func (c *Cluster) setCount(
	j *nomad.Job, group *nomad.TaskGroup, req *nomad.ScalingRequest, out *jobReply,
) error {
	if err := withinBounds(group, *req.Count); err != nil {
		return err
	}
	next := copyJob(j)
	groupOf(next, *group.Name).Count = new(int(*req.Count))
	index, err := c.store.commit(typeJobRegistered, func(t *tx) error {
		cur := t.jobs[jobKey(j)]
		if t.deploying(j) {
			return fail(http.StatusBadRequest, "job scaling blocked due to active deployment")
		}
		if req.JobModifyIndex > 0 {
			if err := enforceIndex(j, req.JobModifyIndex); err != nil {
				return err
			}
		}
		if err := enforceIndex(cur, *j.JobModifyIndex); err != nil {
			return err
		}
		next.SubmitTime = new(t.at.UnixNano())
		t.registerJob(next, cur)
		return nil
	})
	if err != nil {
		return err
	}
	out.JobModifyIndex = index
	if plannable(j) {
		out.EvalID, out.EvalCreateIndex, err = c.addEval(jobKey(j), "job-scaling")
	}
	return err
}

func withinBounds(g *nomad.TaskGroup, n int64) error {
	switch s := g.Scaling; {
	case s == nil:
		return nil
	case n < *s.Min:
		return fail(http.StatusBadRequest,
			"group count was less than scaling policy minimum: %d < %d", n, *s.Min)
	case n > *s.Max:
		return fail(http.StatusBadRequest,
			"group count was greater than scaling policy maximum: %d > %d", n, *s.Max)
	}
	return nil
}

func (t *tx) addScalingEvent(k key, group string, ev nomad.ScalingEvent) {
	byGroup := map[string][]nomad.ScalingEvent{}
	maps.Copy(byGroup, t.scaled[k])
	evs := slices.Insert(slices.Clone(byGroup[group]), 0, ev)
	byGroup[group] = evs[:min(len(evs), trackedEvents)]
	t.scaled[k], t.scaledAt[k] = byGroup, t.index
	t.touch(tableEvents)
}

// readScaleStatus serves GET /v1/job/:id/scale.
func readScaleStatus(s *store, _ query, k key, _ *http.Request) found {
	j := s.jobs[k]
	if j == nil {
		return found{index: s.index, missing: jobNotFound}
	}
	out := nomad.JobScaleStatusResponse{
		JobID: k.id, Namespace: k.ns, JobCreateIndex: *j.CreateIndex,
		JobModifyIndex: *j.ModifyIndex, JobStopped: *j.Stop,
		TaskGroups: map[string]nomad.TaskGroupScaleStatus{},
	}
	for _, g := range j.TaskGroups {
		out.TaskGroups[*g.Name] = nomad.TaskGroupScaleStatus{
			Desired: *g.Count, Events: s.scaled[k][*g.Name],
		}
	}
	index := max(*j.ModifyIndex, s.scaledAt[k])
	for _, a := range s.jobAllocs(k) {
		if g, ok := out.TaskGroups[a.TaskGroup]; ok && !terminal(a) {
			out.TaskGroups[a.TaskGroup] = countAlloc(g, a)
			index = max(index, a.ModifyIndex)
		}
	}
	return found{obj: out, index: index}
}

func countAlloc(g nomad.TaskGroupScaleStatus, a *nomad.Allocation) nomad.TaskGroupScaleStatus {
	g.Placed++
	if a.ClientStatus == "running" {
		g.Running++
	}
	if d := a.DeploymentStatus; d != nil && d.Healthy != nil {
		if *d.Healthy {
			g.Healthy++
		} else {
			g.Unhealthy++
		}
	}
	return g
}

// addEval stores a new evaluation of a job; the caller enqueues it.
func (c *Cluster) addEval(k key, trigger string) (id string, index uint64, err error) {
	index, err = c.store.commit(typeEvalUpdated, func(t *tx) error {
		j := t.jobs[k]
		if j == nil {
			return fmt.Errorf("cannot evaluate job %q: %w", k.id, fail(http.StatusNotFound, jobNotFound))
		}
		e := t.newEval(j, trigger)
		e.JobModifyIndex = *j.JobModifyIndex
		t.putEval(e)
		t.refreshStatus(k)
		id = e.ID
		return nil
	})
	return id, index, err
}
