package devnomad

import (
	"net/http"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// newEval makes a pending evaluation of a job; the caller puts it.
func (t *tx) newEval(j *nomad.Job, trigger string) *nomad.Evaluation {
	kind := *j.Type
	if trigger == "job-deregister" {
		kind = "service" // as in Nomad, whatever the job was
	}
	return &nomad.Evaluation{
		ID: newID(), Namespace: *j.Namespace, Priority: *j.Priority, Type: kind,
		TriggeredBy: trigger, JobID: *j.ID, Status: "pending",
		CreateTime: t.at.UnixNano(), ModifyTime: t.at.UnixNano(),
	}
}

func evalTerminal(e *nomad.Evaluation) bool {
	return e.Status == "complete" || e.Status == "failed" || e.Status == "canceled"
}

// setEval stores a changed copy of an evaluation.
func (t *tx) setEval(id string, change func(*nomad.Evaluation)) {
	was := t.evals[id]
	if was == nil {
		return
	}
	e := *was
	e.ModifyTime = t.at.UnixNano()
	change(&e)
	t.putEval(&e)
}

// serveEvals serves GET /v1/evaluations.
func (c *Cluster) serveEvals(w http.ResponseWriter, r *http.Request) (any, error) {
	status, job := r.URL.Query().Get("status"), r.URL.Query().Get("job")
	return c.read(w, r, func(s *store, q query) (found, error) {
		if err := q.require("read-job"); err != nil {
			return found{}, err
		}
		out := []*nomad.Evaluation{}
		for _, e := range s.evals {
			if q.within(e.Namespace, "read-job") && strings.HasPrefix(e.ID, q.prefix) &&
				(status == "" || e.Status == status) && (job == "" || e.JobID == job) {
				out = append(out, e)
			}
		}
		slices.SortFunc(out, func(a, b *nomad.Evaluation) int {
			return newerFirst(a.CreateIndex, b.CreateIndex)
		})
		return found{obj: out, index: s.tables[tableEvals]}, nil
	})
}

// newerFirst orders by descending index.
func newerFirst(a, b uint64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// serveEval serves GET /v1/evaluation/:id and the allocations below it.
func (c *Cluster) serveEval(w http.ResponseWriter, r *http.Request) (any, error) {
	id := strings.TrimPrefix(r.URL.Path, "/v1/evaluation/")
	id, allocs := strings.CutSuffix(id, "/allocations")
	return c.read(w, r, func(s *store, q query) (found, error) {
		e := s.evals[id]
		switch {
		case allocs:
			return evalAllocs(s, q, id)
		case e == nil && !q.grants.allow(q.ns, "read-job"):
			return found{}, errForbidden
		case e == nil:
			return found{index: s.tables[tableEvals], missing: "eval not found"}, nil
		case !q.grants.allow(e.Namespace, "read-job"):
			return found{}, errForbidden
		}
		return found{obj: e, index: e.ModifyIndex}, nil
	})
}

func evalAllocs(s *store, q query, id string) (found, error) {
	if err := q.require("read-job"); err != nil {
		return found{}, err
	}
	stubs := []*nomad.AllocationListStub{}
	for _, a := range s.allocs {
		if a.EvalID == id {
			stubs = append(stubs, allocStub(a, false, true))
		}
	}
	sortStubs(stubs)
	return found{obj: stubs, index: s.tables[tableAllocs]}, nil
}

func readJobEvals(s *store, _ query, k key, _ *http.Request) found {
	out := s.jobEvals(k)
	slices.Reverse(out)
	return found{obj: out, index: s.tables[tableEvals]}
}
