package devnomad

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// jobReply answers every write that changes a job.
type jobReply struct {
	EvalID          string
	EvalCreateIndex uint64
	JobModifyIndex  uint64
	Warnings        string
	Index           uint64
	LastContact     int
	KnownLeader     bool
	NextToken       string
}

// register serves PUT /v1/jobs and PUT /v1/job/:id.
func (c *Cluster) register(w http.ResponseWriter, r *http.Request, id string) (any, error) {
	if r.Method != http.MethodPut && r.Method != http.MethodPost {
		return nil, errMethod
	}
	req, err := readSubmission(r, id)
	if err != nil {
		return nil, err
	}
	g, err := c.resolve(r)
	if err != nil {
		return nil, err
	}
	canonicalize(req.Job, c.cfg.Region)
	if err := c.checkNamespace(*req.Job.Namespace); err != nil {
		return nil, err
	}
	if err := validate(req.Job); err != nil {
		return nil, err
	}
	if !g.allow(*req.Job.Namespace, "submit-job", "register-job") {
		return nil, errForbidden
	}
	out, err := c.submit(req)
	if err != nil {
		return nil, err
	}
	c.scheduler.enqueue(jobKey(req.Job), out.EvalID)
	setIndex(w, out.Index)
	return out, nil
}

func readSubmission(r *http.Request, id string) (*nomad.JobRegisterRequest, error) {
	var req nomad.JobRegisterRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	j := req.Job
	switch {
	case j == nil:
		return nil, fail(http.StatusBadRequest, "Job must be specified")
	case j.ID == nil:
		return nil, fail(http.StatusBadRequest, "Job ID hasn't been provided")
	case id != "" && *j.ID != id:
		return nil, fail(http.StatusBadRequest, "Job ID does not match name")
	}
	if j.Type != nil && *j.Type == "system" && slices.ContainsFunc(j.TaskGroups, scaled) {
		return nil, fail(http.StatusBadRequest,
			"Task groups with job type system do not support scaling blocks")
	}
	if ns := r.URL.Query().Get("namespace"); ns != "" {
		j.Namespace = &ns
	}
	return &req, nil
}

func scaled(g *nomad.TaskGroup) bool { return g.Scaling != nil }

// canonicalize fills in what Nomad's agent and server fill in.
func canonicalize(j *nomad.Job, region string) {
	if j.Region == nil {
		j.Region = &region
	}
	j.Canonicalize()
	j.Stop = new(false) // a registration always starts the job
	if len(j.Datacenters) == 0 {
		j.Datacenters = []string{"*"}
	}
	if *j.NodePool == "" {
		j.NodePool = new("default")
	}
	for _, g := range j.TaskGroups {
		if g.Scaling != nil && g.Name != nil {
			g.Scaling.Target = map[string]string{
				"Namespace": *j.Namespace, "Job": *j.ID, "Group": *g.Name,
			}
		}
		for _, s := range g.Services {
			canonicalizeService(s)
		}
		for _, t := range g.Tasks {
			for _, s := range t.Services {
				canonicalizeService(s)
			}
		}
	}
}

func canonicalizeService(s *nomad.Service) {
	for i := range s.Checks {
		if s.Checks[i].Name == "" {
			s.Checks[i].Name = fmt.Sprintf("service: %q check", s.Name)
		}
	}
}

// submit stores the job and its evaluation, or only an evaluation when nothing
// was changed.
func (c *Cluster) submit(req *nomad.JobRegisterRequest) (*jobReply, error) {
	j, out := req.Job, &jobReply{Warnings: warnings(req.Job)}
	k, unchanged := jobKey(j), false
	index, err := c.store.commit(typeJobRegistered, func(t *tx) error {
		old := t.jobs[k]
		if err := mayReplace(old, req); err != nil {
			return err
		}
		if req.PreserveCounts && old != nil {
			preserveCounts(old, j)
		}
		j.SubmitTime = new(t.at.UnixNano())
		e := t.newEval(j, "job-register")
		out.EvalID = e.ID
		if unchanged = old != nil && sameSpec(old, j); unchanged {
			t.typ = typeEvalUpdated
			out.JobModifyIndex = *old.ModifyIndex
		} else {
			t.registerJob(j, old)
			e.JobModifyIndex = t.index
		}
		if plannable(j) {
			t.putEval(e)
		} else {
			out.EvalID = ""
		}
		t.refreshStatus(k)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Index, out.EvalCreateIndex = index, index
	if !unchanged {
		out.JobModifyIndex = index
	}
	return out, nil
}

// plannable jobs get an evaluation at once; periodic and parameterized ones not.
func plannable(j *nomad.Job) bool { return j.Periodic == nil && j.ParameterizedJob == nil }

func mayReplace(old *nomad.Job, req *nomad.JobRegisterRequest) error {
	if req.EnforceIndex {
		if err := enforceIndex(old, req.JobModifyIndex); err != nil {
			return err
		}
	}
	if old != nil && *old.Type != *req.Job.Type {
		return fmt.Errorf("cannot update job from type %q to %q", *old.Type, *req.Job.Type)
	}
	return nil
}

func preserveCounts(old, j *nomad.Job) {
	for _, g := range j.TaskGroups {
		if was := groupOf(old, *g.Name); was != nil {
			g.Count = was.Count
		}
	}
}

// warnings are what Nomad remarks about a job that it accepts.
func warnings(j *nomad.Job) string {
	var out []string
	for _, g := range j.TaskGroups {
		if len(g.Services) > 0 && g.ShutdownDelay == nil && !delayed(g.Tasks) {
			out = append(out, fmt.Sprintf("group %q defines services, but neither the group "+
				"nor any of its tasks have shutdown_delay set", *g.Name))
		}
	}
	switch len(out) {
	case 0:
		return ""
	case 1:
		return "1 warning:\n\n* " + out[0]
	}
	return fmt.Sprintf("%d warnings:\n\n* %s", len(out), strings.Join(out, "\n* "))
}

func delayed(tasks []*nomad.Task) bool {
	return slices.ContainsFunc(tasks, func(t *nomad.Task) bool { return t.ShutdownDelay != 0 })
}
