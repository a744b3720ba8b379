package devnomad

import (
	"fmt"
	"slices"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// reconcile compares what a job wants with what there is.
func (t *tx) reconcile(k key, evalID string) *plan {
	p := &plan{
		evalID: evalID, job: t.jobs[k], stop: map[string]string{}, waiting: map[string]string{},
		failed: map[string]*nomad.AllocationMetric{}, queued: map[string]int{},
	}
	p.reblock = t.evals[evalID].Status == "blocked"
	current := t.currentDeployment(p, k)
	allocs := t.jobAllocs(k)
	if p.job == nil || *p.job.Stop {
		for _, a := range allocs {
			if a.DesiredStatus == "run" {
				p.stop[a.ID] = "alloc not needed due to job update"
			}
		}
		return p
	}
	for _, a := range allocs {
		if a.DesiredStatus == "run" && groupOf(p.job, a.TaskGroup) == nil {
			p.stop[a.ID] = "alloc not needed due to job update"
		}
	}
	for _, g := range p.job.TaskGroups {
		r := &groupPlan{tx: t, plan: p, group: g, current: current}
		r.run(slices.DeleteFunc(slices.Clone(allocs), func(a *nomad.Allocation) bool {
			return a.TaskGroup != *g.Name
		}))
	}
	t.endDeployment(p, current)
	return p
}

// groupPlan is the part of a plan that concerns one group.
type groupPlan struct {
	*tx
	plan    *plan
	group   *nomad.TaskGroup
	current *nomad.Deployment // the active one of this version, or nil

	holding []*nomad.Allocation // each takes one of the group's places
	replace []placement
	names   map[int]bool // indexes in use
	hadAny  bool         // this version has had an allocation
}

func (r *groupPlan) run(allocs []*nomad.Allocation) {
	r.names = map[int]bool{}
	for _, a := range allocs {
		if *a.Job.Version == *r.plan.job.Version && *a.Job.CreateIndex == *r.plan.job.CreateIndex {
			r.hadAny = true
		}
		if a.DesiredStatus == "run" {
			r.sort(a)
		}
	}
	want := *r.group.Count
	r.stopExtra(want)
	inPlace, destructive := r.split()
	places := r.fill(want, destructive)
	updating := len(inPlace)+len(destructive) > 0
	if want > 0 && updates(r.plan.job, r.group) && (!r.hadAny || updating || r.current != nil) {
		r.joinDeployment(len(inPlace) + len(destructive) + len(places))
	}
	r.plan.inPlace = append(r.plan.inPlace, inPlace...)
	r.offerAll(places)
}

// sort decides what one allocation that should run means for the group.
func (r *groupPlan) sort(a *nomad.Allocation) {
	batch := *r.plan.job.Type == "batch" || *r.plan.job.Type == "sysbatch"
	switch {
	case a.ClientStatus == "lost", a.ClientStatus == "complete" && !batch:
		return
	case a.ClientStatus == "failed":
		r.sortFailed(a)
	case deref(a.DesiredTransition.Migrate):
		r.plan.stop[a.ID] = "alloc is being migrated"
		r.replace = append(r.replace, placement{group: r.group, name: a.Name, previous: a})
	default:
		r.holding = append(r.holding, a)
		r.names[allocIndex(a)] = true
	}
}

// sortFailed reschedules a failed allocation now, later, or never.
func (r *groupPlan) sortFailed(a *nomad.Allocation) {
	if a.NextAllocation != "" {
		return
	}
	if !sameTasks(a.Job, r.plan.job, a.TaskGroup) {
		r.plan.stop[a.ID] = "alloc not needed due to job update"
		return
	}
	at, ok := rescheduleAt(r.group.ReschedulePolicy, a)
	if ok && !at.After(r.at) {
		r.names[allocIndex(a)] = true
		r.replace = append(r.replace, placement{
			group: r.group, name: a.Name, previous: a, failed: true,
		})
		return
	}
	r.holding = append(r.holding, a)
	r.names[allocIndex(a)] = true
	if ok && a.FollowupEvalID == "" {
		e := r.newEval(r.plan.job, "alloc-reschedule")
		e.StatusDescription, e.WaitUntil = "created for delayed rescheduling", at
		e.PreviousEval, e.JobModifyIndex = r.plan.evalID, *r.plan.job.JobModifyIndex
		r.plan.followUps = append(r.plan.followUps, e)
		r.plan.waiting[a.ID] = e.ID
	}
}

// rescheduleAt says when a failed allocation may be placed again.
func rescheduleAt(pol *nomad.ReschedulePolicy, a *nomad.Allocation) (time.Time, bool) {
	if pol == nil {
		return time.Time{}, false
	}
	tries := 0
	if a.RescheduleTracker != nil {
		tries = len(a.RescheduleTracker.Events)
	}
	if !deref(pol.Unlimited) && tries >= deref(pol.Attempts) {
		return time.Time{}, false
	}
	delay := deref(pol.Delay)
	if deref(pol.DelayFunction) == "exponential" {
		delay <<= min(tries, 16)
	}
	if most := deref(pol.MaxDelay); most > 0 {
		delay = min(delay, most)
	}
	return lastEvent(a).Add(delay), true
}

func lastEvent(a *nomad.Allocation) time.Time {
	last := time.Unix(0, a.ModifyTime)
	for _, s := range a.TaskStates {
		if !s.FinishedAt.IsZero() {
			last = s.FinishedAt
		}
	}
	return last
}

// stopExtra stops what is too much, the highest numbers first.
func (r *groupPlan) stopExtra(want int) {
	for _, pl := range r.replace[min(want, len(r.replace)):] {
		r.plan.stop[pl.previous.ID] = "alloc not needed due to job update"
	}
	r.replace = r.replace[:min(want, len(r.replace))]
	slices.SortStableFunc(r.holding, func(a, b *nomad.Allocation) int {
		return allocIndex(a) - allocIndex(b)
	})
	keep := max(0, want-len(r.replace))
	for len(r.holding) > keep {
		a := r.holding[len(r.holding)-1]
		r.holding = r.holding[:len(r.holding)-1]
		r.plan.stop[a.ID] = "alloc not needed due to job update"
		delete(r.names, allocIndex(a))
	}
}

// split finds what can take the new version in place and what must be replaced,
// as many as the update block lets go at once.
func (r *groupPlan) split() (inPlace []string, destructive []*nomad.Allocation) {
	limit := len(r.holding)
	if updates(r.plan.job, r.group) {
		limit = *r.group.Update.MaxParallel - r.unhealthy()
	}
	for _, a := range r.holding {
		switch {
		case *a.Job.Version == *r.plan.job.Version && *a.Job.CreateIndex == *r.plan.job.CreateIndex:
		case clientTerminal(a):
		case sameTasks(a.Job, r.plan.job, a.TaskGroup):
			inPlace = append(inPlace, a.ID)
		case len(destructive) < limit:
			destructive = append(destructive, a)
		}
	}
	return inPlace, destructive
}

// unhealthy counts the running deployment's allocations not yet healthy.
func (r *groupPlan) unhealthy() (n int) {
	for _, a := range r.holding {
		healthy := a.DeploymentStatus != nil && deref(a.DeploymentStatus.Healthy)
		if r.current != nil && a.DeploymentID == r.current.ID && !healthy {
			n++
		}
	}
	return n
}

// fill lists what has to be placed.
func (r *groupPlan) fill(want int, destructive []*nomad.Allocation) []placement {
	out := r.replace
	for _, a := range destructive {
		r.plan.stop[a.ID] = "alloc is being updated due to job update"
		out = append(out, placement{group: r.group, name: a.Name, previous: a})
	}
	missing := want - len(r.holding) - len(r.replace)
	for i := 0; missing > 0; i++ {
		if !r.names[i] {
			name := fmt.Sprintf("%s.%s[%d]", *r.plan.job.ID, *r.group.Name, i)
			out = append(out, placement{group: r.group, name: name})
			missing--
		}
	}
	return out
}

func (r *groupPlan) offerAll(places []placement) {
	name := *r.group.Name
	r.plan.queued[name] = 0
	for _, pl := range places {
		offer, metrics := r.offer(r.plan, r.group)
		if offer == nil {
			r.plan.queued[name]++
			if m := r.plan.failed[name]; m != nil {
				m.CoalescedFailures++
			} else {
				r.plan.failed[name] = metrics
			}
			if pl.previous != nil && !pl.failed {
				delete(r.plan.stop, pl.previous.ID) // keep it until its successor fits
			}
			continue
		}
		pl.offer = offer
		r.plan.place = append(r.plan.place, pl)
	}
}
