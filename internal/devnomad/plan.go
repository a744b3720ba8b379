package devnomad

import (
	"maps"
	"slices"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// plan is what one evaluation wants to change, and what became of it.
type plan struct {
	evalID  string
	job     *nomad.Job // nil: purged
	reblock bool       // the evaluation was blocked before

	stop       map[string]string // allocation ID to reason
	inPlace    []string
	place      []placement
	followUps  []*nomad.Evaluation
	waiting    map[string]string // failed allocation to its follow-up evaluation
	deploy     *nomad.Deployment // new, or changed; nil: as it is
	oldDeploy  *nomad.Deployment // to be cancelled or ended
	failed     map[string]*nomad.AllocationMetric
	queued     map[string]int
	deployment string // the deployment that the placements belong to

	blocked string
	touched []string // allocations that the client has to look at
	freed   bool
}

// placement is one allocation to be made.
type placement struct {
	group    *nomad.TaskGroup
	name     string
	previous *nomad.Allocation // what it replaces; nil: nothing
	failed   bool              // previous failed: a reschedule
	offer    *offer
}

func (p *plan) empty() bool {
	return len(p.stop)+len(p.inPlace)+len(p.place)+len(p.followUps) == 0 &&
		p.deploy == nil && p.oldDeploy == nil
}

// apply stores the plan: deployments, then what stops, then what changes and
// what is new.
func (t *tx) apply(p *plan) {
	if p.oldDeploy != nil {
		t.putDeployment(p.oldDeploy)
	}
	if p.deploy != nil {
		t.putDeployment(p.deploy)
	}
	t.countPlaced(p)
	for _, id := range slices.Sorted(maps.Keys(p.stop)) {
		t.setAlloc(id, func(a *nomad.Allocation) {
			a.DesiredStatus, a.DesiredDescription = "stop", p.stop[id]
		})
		p.touched, p.freed = append(p.touched, id), true
	}
	for id, eval := range p.waiting {
		t.setAlloc(id, func(a *nomad.Allocation) { a.FollowupEvalID = eval })
	}
	for _, e := range p.followUps {
		t.putEval(e)
	}
	for _, id := range p.inPlace {
		t.setAlloc(id, func(a *nomad.Allocation) { t.updateInPlace(a, p) })
		p.touched = append(p.touched, id)
	}
	for _, pl := range p.place {
		p.touched = append(p.touched, t.placeAlloc(p, pl))
	}
}

func (t *tx) updateInPlace(a *nomad.Allocation, p *plan) {
	a.Job, a.EvalID, a.AllocModifyIndex = p.job, p.evalID, t.index
	if p.deployment != "" && a.DeploymentID != p.deployment {
		a.DeploymentID, a.DeploymentStatus = p.deployment, nil
	}
}

func (t *tx) placeAlloc(p *plan, pl placement) string {
	n := t.node
	a := &nomad.Allocation{
		ID: newID(), Namespace: *p.job.Namespace, EvalID: p.evalID, Name: pl.name,
		NodeID: n.id, NodeName: n.name, JobID: *p.job.ID, Job: p.job, TaskGroup: *pl.group.Name,
		DesiredStatus: "run", ClientStatus: "pending", AllocatedResources: pl.offer.resources,
		Metrics: pl.offer.metrics, AllocModifyIndex: t.index,
		CreateTime: t.at.UnixNano(), ModifyTime: t.at.UnixNano(),
	}
	if updates(p.job, pl.group) {
		a.DeploymentID = p.deployment
	}
	if prev := pl.previous; prev != nil {
		a.PreviousAllocation = prev.ID
		if pl.failed {
			a.RescheduleTracker = trackReschedule(prev, t.at)
		}
	}
	t.putAlloc(a)
	if pl.previous != nil {
		t.setAlloc(pl.previous.ID, func(prev *nomad.Allocation) {
			prev.NextAllocation = a.ID
			if pl.failed {
				prev.DesiredStatus = "stop"
				prev.DesiredDescription = "alloc was rescheduled because it failed"
			}
		})
	}
	return a.ID
}

func trackReschedule(prev *nomad.Allocation, now time.Time) *nomad.RescheduleTracker {
	out := &nomad.RescheduleTracker{}
	if prev.RescheduleTracker != nil {
		out.Events = append(out.Events, prev.RescheduleTracker.Events...)
	}
	out.Events = append(out.Events, &nomad.RescheduleEvent{
		RescheduleTime: now.UnixNano(), PrevAllocID: prev.ID, PrevNodeID: prev.NodeID,
	})
	return out
}
