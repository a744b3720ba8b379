package devnomad

import (
	"errors"
	"maps"
	"net/http"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// serveClientAlloc serves what is below /v1/client/allocation/:id.
func (c *Cluster) serveClientAlloc(w http.ResponseWriter, r *http.Request) (any, error) {
	id, verb, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/client/allocation/"), "/")
	switch verb {
	case "checks":
		return c.allocChecks(w, r, id)
	case "signal":
		return c.signalAlloc(w, r, id)
	case "restart":
		return c.restartAlloc(w, r, id)
	}
	return nil, fail(http.StatusNotFound, "resource not found")
}

// allocChecks serves the last results of an allocation's checks, by ID.
func (c *Cluster) allocChecks(_ http.ResponseWriter, r *http.Request, id string) (any, error) {
	if _, err := c.allocFor(r, id, "read-job"); err != nil {
		return nil, err
	}
	run := c.client.run(id)
	if run == nil {
		return nil, fail(http.StatusNotFound, "Unknown allocation %q", id)
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	return nomad.AllocCheckStatuses(maps.Clone(run.checks)), nil
}

// signalAlloc serves PUT …/signal: the name goes to the driver as it is.
func (c *Cluster) signalAlloc(_ http.ResponseWriter, r *http.Request, id string) (any, error) {
	if r.Method != http.MethodPut && r.Method != http.MethodPost {
		return nil, errMethod
	}
	var req struct{ Task, Signal string }
	if err := decode(r, &req); err != nil {
		return nil, fail(http.StatusBadRequest, "Failed to decode body: %v", err)
	}
	tasks, err := c.tasksFor(r, id, req.Task)
	if err != nil {
		return nil, err
	}
	var p problems
	for _, t := range tasks {
		err := t.signal(req.Signal)
		if err != nil && req.Task != "" {
			return nil, err
		} else if err != nil {
			p.addf("Failed to signal task: %s, err: %w", t.task.Name, err)
		}
	}
	return emptyReply{}, p.err()
}

// errNotRunning answers what needs a running task.
var errNotRunning = errors.New("Task not running")

// signal passes a signal on; its name is the driver's affair.
func (t *taskRun) signal(name string) error {
	task := t.running()
	if task == nil {
		return errNotRunning
	}
	t.note("Signaling", "Task being sent signal "+name, func(e *nomad.TaskEvent) {
		e.TaskSignal, e.TaskSignalReason = name, "User Signaled"
	})
	return task.Signal(name)
}

// emptyReply answers writes that have nothing to tell.
type emptyReply struct{ Index uint64 }

// restartAlloc serves PUT …/restart.
func (c *Cluster) restartAlloc(_ http.ResponseWriter, r *http.Request, id string) (any, error) {
	if r.Method != http.MethodPut && r.Method != http.MethodPost {
		return nil, errMethod
	}
	var req struct {
		TaskName string
		AllTasks bool
	}
	if r.Body != http.NoBody {
		if err := decode(r, &req); err != nil {
			return nil, err
		}
	}
	tasks, err := c.tasksFor(r, id, req.TaskName)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if t.running() == nil {
			if req.TaskName == "" {
				continue
			}
			return nil, errNotRunning
		}
		select {
		case t.restart <- struct{}{}:
		default: // one is asked for already
		}
	}
	return emptyReply{}, nil
}

// tasksFor finds a task of a running allocation by name; "": all of them.
func (c *Cluster) tasksFor(r *http.Request, id, name string) ([]*taskRun, error) {
	if _, err := c.allocFor(r, id, "alloc-lifecycle"); err != nil {
		return nil, err
	}
	run := c.client.run(id)
	if run == nil {
		return nil, fail(http.StatusNotFound, "Unknown allocation %q", id)
	}
	if name != "" {
		t := run.tasks[name]
		if t == nil {
			return nil, errors.New("Task not found")
		}
		return []*taskRun{t}, nil
	}
	var all []*taskRun
	for _, t := range run.tasks {
		all = append(all, t)
	}
	return all, nil
}
