package devnomad

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

const jobNotFound = "job not found"

// serveJobs lists jobs and registers one.
func (c *Cluster) serveJobs(w http.ResponseWriter, r *http.Request) (any, error) {
	if r.Method != http.MethodGet {
		return c.register(w, r, "")
	}
	meta, err := boolParam(r, "meta")
	if err != nil {
		return nil, err
	}
	return c.read(w, r, func(s *store, q query) (found, error) {
		return listJobs(s, q, meta)
	})
}

func listJobs(s *store, q query, meta bool) (found, error) {
	if err := q.require("list-jobs"); err != nil {
		return found{}, err
	}
	stubs := []*nomad.JobListStub{}
	for _, k := range sortedKeys(s.jobs) {
		if !strings.HasPrefix(k.id, q.prefix) || !q.within(k.ns, "list-jobs") {
			continue
		}
		stub := s.stub(s.jobs[k])
		if meta {
			stub.Meta = s.jobs[k].Meta
		}
		stubs = append(stubs, stub)
	}
	return found{obj: stubs, index: max(s.tables[tableJobs], s.tables[tableSummaries])}, nil
}

// serveJob serves everything below one job.
func (c *Cluster) serveJob(w http.ResponseWriter, r *http.Request) (any, error) {
	id, verb := splitJob(r.URL.Path)
	write := r.Method == http.MethodPut || r.Method == http.MethodPost
	switch {
	case verb == "/scale" && write:
		return c.scale(w, r, id)
	case verb == "/evaluate" && write:
		return c.evaluate(w, r, id)
	case verb == "" && write:
		return c.register(w, r, id)
	case verb == "" && r.Method == http.MethodDelete:
		return c.deregister(w, r, id)
	}
	look := map[string]func(*store, query, key, *http.Request) found{
		"":             readJob,
		"/allocations": readJobAllocs,
		"/evaluations": readJobEvals,
		"/deployments": readJobDeployments,
		"/deployment":  readJobDeployment,
		"/versions":    readJobVersions,
		"/summary":     readJobSummary,
		"/scale":       readScaleStatus,
		"/services":    readJobServices,
	}[verb]
	if look == nil {
		return nil, fail(http.StatusNotFound, "job source not found")
	}
	return c.read(w, r, func(s *store, q query) (found, error) {
		if err := q.require(jobCaps(verb)...); err != nil {
			return found{}, err
		}
		return look(s, q, key{q.ns, id}, r), nil
	})
}

func jobCaps(verb string) []string {
	if verb == "/scale" {
		return []string{"read-job", "read-job-scaling"}
	}
	return []string{"read-job"}
}

func readJob(s *store, _ query, k key, _ *http.Request) found {
	j := s.jobs[k]
	if j == nil {
		return found{index: s.tables[tableJobs], missing: jobNotFound}
	}
	return found{obj: j, index: *j.ModifyIndex}
}

func readJobVersions(s *store, _ query, k key, _ *http.Request) found {
	v := s.versions[k]
	if len(v) == 0 {
		return found{index: s.tables[tableJobs], missing: "job versions not found"}
	}
	out := struct {
		Versions []*nomad.Job
		Diffs    []*nomad.JobDiff
		nomad.QueryMeta
	}{Versions: slices.Clone(v)}
	return found{obj: out, index: *v[0].ModifyIndex}
}

func readJobSummary(s *store, _ query, k key, _ *http.Request) found {
	j := s.jobs[k]
	if j == nil {
		return found{index: s.tables[tableSummaries], missing: jobNotFound}
	}
	sum := s.summary(j)
	return found{obj: sum, index: sum.ModifyIndex}
}

// deregister serves DELETE /v1/job/:id; an unknown job is no error.
func (c *Cluster) deregister(w http.ResponseWriter, r *http.Request, id string) (any, error) {
	purge, err := boolParam(r, "purge")
	if err != nil {
		return nil, err
	}
	g, err := c.resolve(r)
	if err != nil {
		return nil, err
	}
	k := key{namespaceOf(r), id}
	caps := []string{"submit-job", "purge-job"}
	if !purge {
		caps = append(caps, "deregister-job")
	}
	if !g.allow(k.ns, caps...) {
		return nil, errForbidden
	}
	if c.job(k) == nil {
		setIndex(w, 0)
		return jobReply{}, nil
	}
	out, err := c.applyDeregistration(k, purge)
	if err != nil {
		return nil, err
	}
	c.scheduler.enqueue(k, out.EvalID)
	setIndex(w, out.Index)
	return out, nil
}

func (c *Cluster) applyDeregistration(k key, purge bool) (out jobReply, err error) {
	var orphans []string
	index, err := c.store.commit(typeJobDeregistered, func(t *tx) error {
		j := t.jobs[k]
		if j == nil {
			return errNoPlan // purged by another
		}
		orphans = t.byJob[k]
		e := t.newEval(j, "job-deregister")
		e.JobModifyIndex = t.index
		t.deregister(j, purge)
		t.flush() // Nomad tells of the job and of its evaluation one after the other
		t.putEval(e)
		t.refreshStatus(k)
		out.EvalID = e.ID
		return nil
	})
	if errors.Is(err, errNoPlan) {
		return out, nil
	}
	if purge {
		c.client.remove(orphans)
	}
	out.EvalCreateIndex, out.JobModifyIndex, out.Index = index, index, index
	return out, err
}

// evaluate serves PUT /v1/job/:id/evaluate: look at the job again.
func (c *Cluster) evaluate(w http.ResponseWriter, r *http.Request, id string) (any, error) {
	g, err := c.resolve(r)
	if err != nil {
		return nil, err
	}
	k := key{namespaceOf(r), id}
	if !g.allow(k.ns, "submit-job", "evaluate-job") {
		return nil, errForbidden
	}
	j := c.job(k)
	if j == nil {
		return nil, fail(http.StatusNotFound, jobNotFound)
	}
	evalID, index, err := c.addEval(k, "job-register")
	if err != nil {
		return nil, err
	}
	c.scheduler.enqueue(k, evalID)
	setIndex(w, index)
	return jobReply{
		EvalID: evalID, EvalCreateIndex: index, Index: index, JobModifyIndex: *j.ModifyIndex,
	}, nil
}

func (c *Cluster) job(k key) (j *nomad.Job) {
	c.store.view(func(s *store) { j = s.jobs[k] })
	return j
}
