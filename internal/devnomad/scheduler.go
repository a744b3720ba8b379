package devnomad

import (
	"context"
	"errors"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// scheduler turns evaluations into plans. One goroutine works through the
// evaluations of one job, in order, and ends when there are none left; jobs
// are independent of each other, as with Nomad's workers.
type scheduler struct {
	c      *Cluster
	mu     sync.Mutex
	queues map[key][]string // a present key has a goroutine
}

func newScheduler(c *Cluster) *scheduler {
	return &scheduler{c: c, queues: map[key][]string{}}
}

// enqueue hands an evaluation to the job's worker. "": nothing to do.
func (d *scheduler) enqueue(k key, evalID string) {
	if evalID == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, busy := d.queues[k]
	d.queues[k] = append(d.queues[k], evalID)
	if !busy {
		d.c.spawn(func() { d.work(k) })
	}
}

func (d *scheduler) next(k key) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.queues[k]
	if len(q) == 0 {
		delete(d.queues, k)
		return "", false
	}
	d.queues[k] = q[1:]
	return q[0], true
}

func (d *scheduler) work(k key) {
	for {
		id, ok := d.next(k)
		if !ok {
			return
		}
		delay := d.c.cfg.Timing.Placement + d.c.faults.delay(StepPlacement)
		if !sleep(d.c.ctx, delay) {
			return
		}
		if err := d.process(k, id); err != nil {
			d.c.log.Error("evaluation failed", "eval", id, "error", err)
		}
		d.c.collect()
	}
}

// errNoPlan says that an evaluation found nothing to change, errOver that it
// had been cancelled or was purged with its job.
var (
	errNoPlan = errors.New("plan is a no-op")
	errOver   = errors.New("evaluation is over")
)

// process is one evaluation: the plan, a blocked evaluation for what did not
// fit, follow-ups for what is to be tried later, and the end of this one.
func (d *scheduler) process(k key, evalID string) error {
	var p *plan
	_, err := d.c.store.commit(typePlanResult, func(t *tx) error {
		if e := t.evals[evalID]; e == nil || evalTerminal(e) {
			return errOver
		}
		if p = t.reconcile(k, evalID); p.empty() {
			return errNoPlan
		}
		t.setEval(evalID, func(*nomad.Evaluation) {})
		t.apply(p)
		t.refreshStatus(k)
		return nil
	})
	switch {
	case errors.Is(err, errOver):
		return nil
	case err != nil && !errors.Is(err, errNoPlan):
		return err
	}
	if len(p.failed) > 0 && !p.reblock {
		if p.blocked, err = d.block(k, p); err != nil {
			return err
		}
	}
	if err := d.complete(k, evalID, p); err != nil {
		return err
	}
	d.c.client.reconcile(p.touched)
	d.c.watchDeployment(p.deployment)
	for _, f := range p.followUps {
		d.later(k, f)
	}
	if p.freed {
		d.unblock()
	}
	return nil
}

func (d *scheduler) block(k key, p *plan) (string, error) {
	var id string
	_, err := d.c.store.commit(typeEvalUpdated, func(t *tx) error {
		if p.job == nil {
			return errNoPlan
		}
		e := t.newEval(p.job, "queued-allocs")
		e.Status, e.StatusDescription = "blocked", "created to place remaining allocations"
		e.PreviousEval, e.JobModifyIndex = p.evalID, *p.job.JobModifyIndex
		id = e.ID
		t.cancelBlocked(k, p.evalID, "cancelled due to duplicate blocked evaluation")
		t.putEval(e)
		t.refreshStatus(k)
		return nil
	})
	return id, err
}

// complete ends an evaluation; one that was blocked and still cannot place
// everything stays blocked.
func (d *scheduler) complete(k key, evalID string, p *plan) error {
	_, err := d.c.store.commit(typeEvalUpdated, func(t *tx) error {
		if len(p.failed) == 0 {
			t.cancelBlocked(k, evalID, "evaluation \""+evalID+"\" successful")
		}
		t.setEval(evalID, func(e *nomad.Evaluation) {
			e.Status = "complete"
			if p.reblock && len(p.failed) > 0 {
				e.Status = "blocked"
			}
			e.BlockedEval, e.QueuedAllocations = p.blocked, p.queued
			if len(p.failed) > 0 {
				e.FailedTGAllocs = p.failed
			}
			if p.deployment != "" {
				e.DeploymentID = p.deployment
			}
			if len(p.followUps) > 0 {
				e.NextEval = p.followUps[0].ID
			}
		})
		t.touchSummary(k)
		t.refreshStatus(k)
		return nil
	})
	return err
}

// cancelBlocked ends a job's other blocked evaluations.
func (t *tx) cancelBlocked(k key, except, why string) {
	for _, e := range t.jobEvals(k) {
		if e.Status == "blocked" && e.ID != except {
			t.setEval(e.ID, func(e *nomad.Evaluation) {
				e.Status, e.StatusDescription = "canceled", why
			})
		}
	}
}

// unblock tries every blocked evaluation again, since something was freed.
func (d *scheduler) unblock() {
	var again []*nomad.Evaluation
	d.c.store.view(func(s *store) {
		for _, e := range s.evals {
			if e.Status == "blocked" {
				again = append(again, e)
			}
		}
	})
	for _, e := range again {
		d.enqueue(key{e.Namespace, e.JobID}, e.ID)
	}
}

// later enqueues a follow-up evaluation when its time has come.
func (d *scheduler) later(k key, e *nomad.Evaluation) {
	d.c.spawn(func() {
		if sleep(d.c.ctx, e.WaitUntil.Sub(d.c.now())) {
			d.enqueue(k, e.ID)
		}
	})
}

// sleep waits and says whether it was not cut short.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
