package devnomad

import (
	"net/http"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// watchDeployment makes sure that a deployment has a goroutine that fails it
// when it does not get on in time. "": nothing to watch.
func (c *Cluster) watchDeployment(id string) {
	if id == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watched[id] {
		return
	}
	c.watched[id] = true
	c.spawn(func() { c.superviseDeployment(id) })
}

// superviseDeployment looks at a deployment at each change until it has ended.
func (c *Cluster) superviseDeployment(id string) {
	healthy := -1
	for {
		var d *nomad.Deployment
		changed := c.store.view(func(s *store) { d = s.deployments[id] })
		if d == nil || !activeDeployment[d.Status] {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.watched, id)
			return
		}
		if n := healthyAllocs(d); n != healthy && healthy >= 0 {
			if !sleep(c.ctx, c.cfg.Timing.DeploymentBatch) {
				return
			}
			c.reevaluate(d)
		}
		healthy = healthyAllocs(d)
		if !c.awaitDeployment(d, changed) {
			return
		}
	}
}

func healthyAllocs(d *nomad.Deployment) (n int) {
	for _, s := range d.TaskGroups {
		n += s.HealthyAllocs
	}
	return n
}

// awaitDeployment waits for the next change of anything; the deadline fails it.
func (c *Cluster) awaitDeployment(d *nomad.Deployment, changed <-chan struct{}) bool {
	now := c.now()
	t := time.NewTimer(progressDeadline(d, now).Sub(now))
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
		if progressDeadline(d, now).Sub(now) >= 24*time.Hour {
			break
		}
		_, _, err := c.endBadDeployment(d.ID, "Failed due to progress deadline")
		if err != nil {
			c.log.Debug("deployment ended by itself", "deployment", d.ID, "error", err)
		}
	case <-c.ctx.Done():
		return false
	}
	return true
}

// progressDeadline is the earliest of the groups that are not done.
func progressDeadline(d *nomad.Deployment, now time.Time) time.Time {
	at := now.Add(24 * time.Hour) // far enough: it is looked at anew then
	for _, s := range d.TaskGroups {
		by := s.RequireProgressBy
		if s.HealthyAllocs < s.DesiredTotal && !by.IsZero() && by.Before(at) {
			at = by
		}
	}
	return at
}

func (c *Cluster) reevaluate(d *nomad.Deployment) {
	k := key{d.Namespace, d.JobID}
	id, _, err := c.addEval(k, "deployment-watcher")
	if err != nil {
		c.log.Debug("deployment outlived its job", "deployment", d.ID, "error", err)
		return
	}
	c.scheduler.enqueue(k, id)
}

// endBadDeployment marks an active deployment failed and lets the scheduler look.
func (c *Cluster) endBadDeployment(id, why string) (evalID string, index uint64, err error) {
	var k key
	index, err = c.store.commit(typeDeployment, func(t *tx) error {
		d := t.deployments[id]
		if d == nil || !activeDeployment[d.Status] {
			return errNoPlan
		}
		f := copyDeployment(d)
		f.Status, f.StatusDescription = "failed", why
		t.putDeployment(f)
		k = key{d.Namespace, d.JobID}
		if j := t.jobs[k]; j != nil {
			e := t.newEval(j, "deployment-watcher")
			e.DeploymentID, evalID = id, e.ID
			t.putEval(e)
		}
		return nil
	})
	if err == nil {
		c.scheduler.enqueue(k, evalID)
	}
	return evalID, index, err
}

// failDeployment serves PUT /v1/deployment/fail/:id.
func (c *Cluster) failDeployment(w http.ResponseWriter, r *http.Request, id string) (any, error) {
	if r.Method != http.MethodPut && r.Method != http.MethodPost {
		return nil, errMethod
	}
	g, err := c.resolve(r)
	if err != nil {
		return nil, err
	}
	var d *nomad.Deployment
	c.store.view(func(s *store) { d = s.deployments[id] })
	switch {
	case d == nil:
		return nil, fail(http.StatusNotFound, "deployment not found")
	case !g.allow(d.Namespace, "submit-job", "fail-deployment"):
		return nil, errForbidden
	}
	evalID, index, err := c.endBadDeployment(id, "Deployment marked as failed")
	if err != nil {
		return nil, fail(http.StatusBadRequest, "can't fail terminal deployment")
	}
	setIndex(w, index)
	return nomad.DeploymentUpdateResponse{
		EvalID: evalID, EvalCreateIndex: index, DeploymentModifyIndex: index,
	}, nil
}
