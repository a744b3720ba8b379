package devnomad

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

func clientTerminal(a *nomad.Allocation) bool {
	return a.ClientStatus == "complete" || a.ClientStatus == "failed" || a.ClientStatus == "lost"
}

// terminal allocations hold no resources and count for nothing any more.
func terminal(a *nomad.Allocation) bool {
	return a.DesiredStatus == "stop" || a.DesiredStatus == "evict" || clientTerminal(a)
}

// setAlloc stores a changed copy of an allocation.
func (t *tx) setAlloc(id string, change func(*nomad.Allocation)) {
	was := t.allocs[id]
	if was == nil {
		return
	}
	a := *was
	a.ModifyTime = t.at.UnixNano()
	change(&a)
	t.putAlloc(&a)
}

// allocIndex is the number in a name like job.group[2]; -1: none.
func allocIndex(a *nomad.Allocation) int {
	i := strings.LastIndexByte(a.Name, '[')
	n, err := strconv.Atoi(strings.TrimSuffix(a.Name[i+1:], "]"))
	if i < 0 || err != nil {
		return -1
	}
	return n
}

// allocStub is the list form; resources and task states only where asked for.
func allocStub(a *nomad.Allocation, resources, states bool) *nomad.AllocationListStub {
	s := &nomad.AllocationListStub{
		ID: a.ID, EvalID: a.EvalID, Name: a.Name, Namespace: a.Namespace, NodeID: a.NodeID,
		NodeName: a.NodeName, JobID: a.JobID, JobType: *a.Job.Type, JobVersion: *a.Job.Version,
		TaskGroup: a.TaskGroup, DesiredStatus: a.DesiredStatus,
		DesiredDescription: a.DesiredDescription, ClientStatus: a.ClientStatus,
		ClientDescription: a.ClientDescription, DeploymentStatus: a.DeploymentStatus,
		FollowupEvalID: a.FollowupEvalID, NextAllocation: a.NextAllocation,
		RescheduleTracker: a.RescheduleTracker, CreateIndex: a.CreateIndex,
		ModifyIndex: a.ModifyIndex, CreateTime: a.CreateTime, ModifyTime: a.ModifyTime,
	}
	if resources {
		s.AllocatedResources = a.AllocatedResources
	}
	if states {
		s.TaskStates = a.TaskStates
	}
	return s
}

func sortStubs(stubs []*nomad.AllocationListStub) {
	slices.SortFunc(stubs, func(a, b *nomad.AllocationListStub) int {
		if n := newerFirst(a.CreateIndex, b.CreateIndex); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// serveAllocs serves GET /v1/allocations.
func (c *Cluster) serveAllocs(w http.ResponseWriter, r *http.Request) (any, error) {
	resources, err := boolParam(r, "resources")
	if err != nil {
		return nil, err
	}
	states := true
	if r.URL.Query().Has("task_states") {
		if states, err = boolParam(r, "task_states"); err != nil {
			return nil, err
		}
	} else if resources {
		states = true
	}
	return c.read(w, r, func(s *store, q query) (found, error) {
		if err := q.require("read-job"); err != nil {
			return found{}, err
		}
		stubs := []*nomad.AllocationListStub{}
		for _, a := range s.allocs {
			if q.within(a.Namespace, "read-job") && strings.HasPrefix(a.ID, q.prefix) {
				stubs = append(stubs, allocStub(a, resources, states))
			}
		}
		sortStubs(stubs)
		return found{obj: stubs, index: s.tables[tableAllocs]}, nil
	})
}

// readJobAllocs serves GET /v1/job/:id/allocations. Without all=true it leaves
// out what belonged to an earlier job of the same name.
func readJobAllocs(s *store, _ query, k key, r *http.Request) found {
	all, err := boolParam(r, "all")
	if err != nil {
		all = false
	}
	var stubs []*nomad.AllocationListStub
	j := s.jobs[k]
	for _, a := range s.jobAllocs(k) {
		if all || j == nil || *a.Job.CreateIndex == *j.CreateIndex {
			stubs = append(stubs, allocStub(a, false, true))
		}
	}
	if stubs == nil {
		stubs = []*nomad.AllocationListStub{}
	}
	sortStubs(stubs)
	return found{obj: stubs, index: s.tables[tableAllocs]}
}

// serveAlloc serves what is below /v1/allocation/:id.
func (c *Cluster) serveAlloc(w http.ResponseWriter, r *http.Request) (any, error) {
	id, verb, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/allocation/"), "/")
	switch verb {
	case "":
		return c.read(w, r, func(s *store, q query) (found, error) { return readAlloc(s, q, id) })
	case "stop":
		return c.stopAlloc(w, r, id)
	case "services":
		return c.read(w, r, func(s *store, q query) (found, error) { return allocServices(s, q, id) })
	case "checks":
		return c.allocChecks(w, r, id)
	}
	return nil, fail(http.StatusNotFound, "resource not found")
}

func readAlloc(s *store, q query, id string) (found, error) {
	a := s.allocs[id]
	switch {
	case len(id) != 36:
		return found{}, fail(http.StatusInternalServerError, "index error: UUID must be 36 characters")
	case a == nil && !q.grants.allow(q.ns, "read-job"):
		return found{}, errForbidden
	case a == nil:
		return found{index: s.tables[tableAllocs], missing: "alloc not found"}, nil
	case !q.grants.allow(a.Namespace, "read-job"):
		return found{}, errForbidden
	}
	return found{obj: a, index: a.ModifyIndex}, nil
}

// stopAlloc serves PUT /v1/allocation/:id/stop: the scheduler replaces it.
func (c *Cluster) stopAlloc(w http.ResponseWriter, r *http.Request, id string) (any, error) {
	if r.Method != http.MethodPut && r.Method != http.MethodPost {
		return nil, errMethod
	}
	a, err := c.allocFor(r, id, "alloc-lifecycle")
	if s, ok := errors.AsType[*statusError](err); ok && s.code == http.StatusNotFound {
		return nil, fail(http.StatusNotFound, "allocation not found")
	} else if err != nil {
		return nil, err
	}
	var e *nomad.Evaluation
	index, err := c.store.commit(typeAllocDesired, func(t *tx) error {
		t.setAlloc(id, func(a *nomad.Allocation) { a.DesiredTransition.Migrate = new(true) })
		e = t.newEval(a.Job, "alloc-stop")
		t.putEval(e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.scheduler.enqueue(key{a.Namespace, a.JobID}, e.ID)
	setIndex(w, index)
	return struct {
		EvalID string
		Index  uint64
	}{e.ID, index}, nil
}

// allocFor finds an allocation that the request's token may use.
func (c *Cluster) allocFor(r *http.Request, id string, caps ...string) (*nomad.Allocation, error) {
	g, err := c.resolve(r)
	if err != nil {
		return nil, err
	}
	var a *nomad.Allocation
	c.store.view(func(s *store) { a = s.allocs[id] })
	switch {
	case a == nil && g.management:
		return nil, fail(http.StatusNotFound, "Unknown allocation %q", id)
	case a == nil, !g.allow(a.Namespace, caps...):
		return nil, errForbidden
	}
	return a, nil
}
