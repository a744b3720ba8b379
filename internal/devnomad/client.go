package devnomad

import (
	"slices"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// client is the node's side: it runs what is placed on it and reports to the
// server, in the rhythm of a real client.
type client struct {
	c     *Cluster
	start time.Time // the beats of the status ticker are counted from here

	mu      sync.Mutex
	runs    map[string]*allocRun
	pending map[string]bool // allocations with news, and whether they are urgent
	due     time.Time       // when the reporter is going to report; zero: it sleeps
}

func newClient(c *Cluster) *client {
	return &client{
		c: c, start: time.Now(), runs: map[string]*allocRun{}, pending: map[string]bool{},
	}
}

// reconcile looks at allocations that a plan has touched.
func (n *client) reconcile(ids []string) {
	for _, id := range ids {
		var a *nomad.Allocation
		n.c.store.view(func(s *store) { a = s.allocs[id] })
		if a != nil {
			n.update(a)
		}
	}
}

// remove ends allocations that the server has forgotten.
func (n *client) remove(ids []string) {
	for _, id := range ids {
		if r := n.run(id); r != nil {
			r.stop(false)
		}
	}
}

func (n *client) update(a *nomad.Allocation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.runs[a.ID]
	switch {
	case r == nil && !terminal(a):
		r = newAllocRun(n.c, a)
		n.runs[a.ID] = r
		n.c.spawn(r.run)
	case r != nil && a.DesiredStatus != "run":
		r.stop(deref(a.DesiredTransition.NoShutdownDelay))
	case r != nil:
		r.update(a)
	}
}

func (n *client) run(id string) *allocRun {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runs[id]
}

// report notes that an allocation has news. An urgent one goes to the server
// with the next tick, any other with the next fifth tick.
func (n *client) report(id string, urgent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending[id] = urgent || n.pending[id]
	at := n.nextBeat(urgent)
	if n.due.IsZero() || at.Before(n.due) {
		n.due = at
		n.c.spawn(func() { n.flushAt(at) })
	}
}

// nextBeat is the next tick, or fifth tick, counted from the client's start.
func (n *client) nextBeat(urgent bool) time.Time {
	beat := n.c.cfg.Timing.StatusTick
	if !urgent {
		beat *= 5
	}
	now := time.Now()
	if beat <= 0 {
		return now
	}
	return n.start.Add((now.Sub(n.start)/beat + 1) * beat)
}

// flushAt reports everything pending, unless an earlier flush has done so.
func (n *client) flushAt(at time.Time) {
	delay := n.c.cfg.Timing.StatusBatch + n.c.faults.delay(StepStatus)
	if !sleep(n.c.ctx, time.Until(at)) {
		return
	}
	n.mu.Lock()
	if !n.due.Equal(at) {
		n.mu.Unlock()
		return
	}
	ids := n.pending
	n.pending, n.due = map[string]bool{}, time.Time{}
	n.mu.Unlock()

	if len(ids) == 0 || !sleep(n.c.ctx, delay) {
		return
	}
	var news []allocNews
	for id := range ids {
		if r := n.run(id); r != nil {
			news = append(news, r.news())
		}
	}
	n.c.acceptNews(news)
}

// allocNews is what a client tells the server about one allocation.
type allocNews struct {
	id, status, description string
	states                  map[string]*nomad.TaskState
	deployment              string
	healthy                 *bool
	healthyAt               time.Time
}

// acceptNews stores the clients' reports, and an evaluation for every failure.
func (c *Cluster) acceptNews(news []allocNews) {
	evals := map[key]string{}
	ended := false
	_, err := c.store.commit(typeAllocUpdated, func(t *tx) error {
		news = slices.DeleteFunc(news, func(n allocNews) bool { return t.allocs[n.id] == nil })
		if len(news) == 0 {
			return errNoPlan // of purged jobs only
		}
		for _, n := range news {
			was := t.allocs[n.id]
			t.acceptHealth(was, n)
			t.setAlloc(n.id, func(a *nomad.Allocation) { n.apply(a) })
			ended = ended || clientTerminal(t.allocs[n.id])
			if e := t.failureEval(was, n); e != nil {
				evals[key{was.Namespace, was.JobID}] = e.ID
			}
		}
		for _, n := range news {
			t.refreshStatus(key{t.allocs[n.id].Namespace, t.allocs[n.id].JobID})
		}
		return nil
	})
	if err != nil {
		return
	}
	for k, id := range evals {
		c.scheduler.enqueue(k, id)
	}
	if ended {
		c.scheduler.unblock()
	}
}

func (n allocNews) apply(a *nomad.Allocation) {
	a.ClientStatus, a.ClientDescription, a.TaskStates = n.status, n.description, n.states
	if n.healthy != nil && n.deployment == a.DeploymentID {
		a.DeploymentStatus = &nomad.AllocDeploymentStatus{
			Healthy: n.healthy, Timestamp: n.healthyAt, ModifyIndex: a.ModifyIndex,
		}
	}
}

func (t *tx) acceptHealth(was *nomad.Allocation, n allocNews) {
	known := was.DeploymentStatus != nil && was.DeploymentStatus.Healthy != nil
	if n.healthy != nil && n.deployment == was.DeploymentID && !known {
		t.countHealth(was.DeploymentID, was.TaskGroup, *n.healthy)
	}
}

// failureEval asks the scheduler to look at an allocation that has failed.
func (t *tx) failureEval(was *nomad.Allocation, n allocNews) *nomad.Evaluation {
	j := t.jobs[key{was.Namespace, was.JobID}]
	fresh := n.status == "failed" && was.ClientStatus != "failed"
	if !fresh || was.DesiredStatus != "run" || j == nil {
		return nil
	}
	e := t.newEval(j, "alloc-failure")
	e.JobModifyIndex = *j.JobModifyIndex
	t.putEval(e)
	return e
}
