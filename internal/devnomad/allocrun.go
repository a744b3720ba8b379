package devnomad

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// errStopped is why an allocation's tasks end when the server wants them to.
var errStopped = errors.New("allocation is to stop")

// errSibling is why a task ends when another of its allocation has failed.
var errSibling = errors.New("sibling task failed")

// allocRun runs one allocation on the node: its directories, services, tasks
// and health. One goroutine (run) owns its course; the rest reads under mu.
type allocRun struct {
	c     *Cluster
	ctx   context.Context
	abort context.CancelCauseFunc

	placed *nomad.Allocation // as it was when it came: what its tasks are made of
	tasks  map[string]*taskRun

	mu       sync.Mutex
	alloc    *nomad.Allocation // as it was last updated in place
	states   map[string]*nomad.TaskState
	checks   map[string]nomad.AllocCheckStatus
	healthy  *bool
	healthAt time.Time
	told     string // the client status that the server knows; "": none
	noDelay  bool
	watch    context.CancelFunc // ends the health watcher
}

func newAllocRun(c *Cluster, a *nomad.Allocation) *allocRun {
	r := &allocRun{
		c: c, placed: a, alloc: a, states: map[string]*nomad.TaskState{}, tasks: map[string]*taskRun{},
		checks: map[string]nomad.AllocCheckStatus{}, watch: func() {},
	}
	r.ctx, r.abort = context.WithCancelCause(c.ctx)
	for _, t := range r.group().Tasks {
		r.states[t.Name] = &nomad.TaskState{State: "pending"}
		r.tasks[t.Name] = newTaskRun(r, t)
	}
	return r
}

func (r *allocRun) group() *nomad.TaskGroup { return groupOf(r.placed.Job, r.placed.TaskGroup) }

func (r *allocRun) dir() string { return filepath.Join(r.c.dir, "alloc", r.placed.ID) }

// stop ends the allocation; its tasks get their kill timeout.
func (r *allocRun) stop(noDelay bool) {
	r.mu.Lock()
	r.noDelay = noDelay
	r.mu.Unlock()
	r.abort(errStopped)
}

// update takes over a new version of the job that needs no restart.
func (r *allocRun) update(a *nomad.Allocation) {
	r.mu.Lock()
	fresh := a.DeploymentID != r.alloc.DeploymentID
	r.alloc = a
	if fresh {
		r.healthy = nil
	}
	r.mu.Unlock()
	if fresh {
		r.watchHealth()
	}
}

// run is the life of the allocation.
func (r *allocRun) run() {
	defer r.abort(nil)
	for name := range r.tasks {
		r.event(name, "Received", "Task received by client", nil)
	}
	if !sleep(r.ctx, r.c.cfg.Timing.Start+r.c.faults.delay(StepStart)) {
		r.giveUp()
		return
	}
	if err := r.makeDirs(); err != nil {
		r.failAll(err)
		return
	}
	r.registerServices(r.group().Services, "group-"+r.placed.TaskGroup)
	r.watchHealth()
	r.runTasks()
	r.deregisterServices()
	r.c.client.report(r.placed.ID, true)
}

// runTasks runs prestart tasks to their end, then all others together.
func (r *allocRun) runTasks() {
	var rest []*nomad.Task
	for _, t := range r.group().Tasks {
		if l := t.Lifecycle; l != nil && l.Hook == "prestart" && !l.Sidecar {
			r.tasks[t.Name].run(r.ctx)
			if r.failed() {
				r.abort(errSibling)
			}
			continue
		}
		rest = append(rest, t)
	}
	var wg sync.WaitGroup
	for _, t := range rest {
		wg.Go(func() { r.runTask(t) })
	}
	wg.Wait()
}

func (r *allocRun) runTask(t *nomad.Task) {
	r.tasks[t.Name].run(r.ctx)
	r.mu.Lock()
	failed := r.states[t.Name].Failed
	r.mu.Unlock()
	if failed || t.Leader {
		r.abort(errSibling)
	}
}

func (r *allocRun) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.states {
		if s.Failed {
			return true
		}
	}
	return false
}

// giveUp ends an allocation that was stopped before it began.
func (r *allocRun) giveUp() {
	for name := range r.tasks {
		r.tasks[name].dead(false)
	}
	r.c.client.report(r.placed.ID, true)
}

func (r *allocRun) failAll(err error) {
	for name := range r.tasks {
		r.event(name, "Setup Failure", fmt.Sprintf("failed to setup alloc: %v", err), nil)
		r.tasks[name].dead(true)
	}
}

// makeDirs lays out what a task expects: alloc/ shared, and its own local/,
// secrets/ and tmp/.
func (r *allocRun) makeDirs() error {
	dirs := []string{"alloc/data", "alloc/logs", "alloc/tmp"}
	for name := range r.tasks {
		dirs = append(dirs, name+"/local", name+"/secrets", name+"/tmp")
	}
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(r.dir(), d), 0o755); err != nil {
			return fmt.Errorf("cannot make the directories of allocation %q: %w", r.placed.ID, err)
		}
	}
	return nil
}

// change stores a changed copy of a task's state and reports it: with urgency
// if it failed, or if the server knows another status of the allocation.
func (r *allocRun) change(task string, f func(*nomad.TaskState)) {
	r.mu.Lock()
	s := *r.states[task]
	f(&s)
	r.states[task] = &s
	status, _ := r.status()
	urgent := r.told != "" && status != r.told || status == "failed"
	r.mu.Unlock()
	r.c.client.report(r.placed.ID, urgent)
}

const keptEvents = 10

// event adds a task event; fill sets what is particular to its type.
func (r *allocRun) event(task, kind, display string, fill func(*nomad.TaskEvent)) {
	e := &nomad.TaskEvent{
		Type: kind, Time: r.c.now().UnixNano(), DisplayMessage: display, Details: map[string]string{},
	}
	if fill != nil {
		fill(e)
	}
	r.change(task, func(s *nomad.TaskState) {
		s.Events = append(append([]*nomad.TaskEvent{}, s.Events...), e)
		s.Events = s.Events[max(0, len(s.Events)-keptEvents):]
	})
}

// status is the client status that follows from the tasks' states.
func (r *allocRun) status() (status, description string) {
	var pending, running, dead, failed bool
	for _, s := range r.states {
		pending = pending || s.State == "pending"
		running = running || s.State == "running"
		dead = dead || s.State == "dead"
		failed = failed || s.Failed && s.State == "dead"
	}
	switch {
	case running:
		return "running", "Tasks are running"
	case failed:
		return "failed", "Failed tasks"
	case pending:
		return "pending", "No tasks have started"
	}
	return "complete", "All tasks have completed"
}

func (r *allocRun) news() allocNews {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := allocNews{
		id: r.placed.ID, states: maps.Clone(r.states), deployment: r.alloc.DeploymentID,
		healthy: r.healthy, healthyAt: r.healthAt,
	}
	n.status, n.description = r.status()
	r.told = n.status
	return n
}
