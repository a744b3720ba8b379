package devnomad

import (
	"context"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// watchHealth decides, for the deployment the allocation belongs to, whether it
// is healthy: all tasks running (and all checks passing) for min_healthy_time,
// before healthy_deadline. A new deployment starts it anew.
func (r *allocRun) watchHealth() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch()
	update, id := groupOf(r.alloc.Job, r.alloc.TaskGroup).Update, r.alloc.DeploymentID
	if id == "" || update == nil {
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.watch = cancel
	r.c.spawn(func() { r.judge(ctx, id, update) })
}

// healthPoll is how often a client looks at its tasks for a deployment.
const healthPoll = 500 * time.Millisecond

func (r *allocRun) judge(ctx context.Context, deployment string, u *nomad.UpdateStrategy) {
	deadline := time.Now().Add(deref(u.HealthyDeadline))
	var since time.Time // running without a break since
	for {
		now := time.Now()
		switch good, dead := r.condition(deref(u.HealthCheck) == "checks"); {
		case dead || !now.Before(deadline):
			r.setHealth(deployment, false)
			return
		case !good:
			since = time.Time{}
		case since.IsZero():
			since = now
		}
		next := min(healthPoll, time.Until(deadline))
		if !since.IsZero() {
			left := since.Add(deref(u.MinHealthyTime)).Sub(now)
			if left <= 0 {
				r.setHealth(deployment, true)
				return
			}
			next = min(next, left)
		}
		if !sleep(ctx, max(next, time.Millisecond)) {
			return
		}
	}
}

// condition says whether everything runs as it should, or can not any more.
func (r *allocRun) condition(checks bool) (good, dead bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	good = true
	for _, s := range r.states {
		good = good && s.State == "running"
		dead = dead || s.State == "dead" && s.Failed || s.Restarts > 0
	}
	if checks {
		for _, s := range r.checks {
			good = good && s.Status == "success"
		}
	}
	return good, dead
}

const unhealthy = "Task not running for min_healthy_time by healthy_deadline"

func (r *allocRun) setHealth(deployment string, healthy bool) {
	r.mu.Lock()
	current := r.alloc.DeploymentID == deployment && r.healthy == nil
	if current {
		r.healthy, r.healthAt = &healthy, r.c.now()
	}
	r.mu.Unlock()
	if !current {
		return
	}
	if !healthy {
		for name := range r.tasks {
			r.event(name, "Alloc Unhealthy", unhealthy, nil)
		}
	}
	r.c.client.report(r.placed.ID, false)
}
