package devnomad_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	nomad "github.com/hashicorp/nomad/api"
)

var jobCases = []contractCase{
	{"job-register-new", func(w *world) {
		r := w.register(w.job(1))
		w.equal("job modify index", r.JobModifyIndex, r.EvalCreateIndex)
		w.holds("an evaluation", r.EvalID != "")
		j := w.info(w.name)
		w.equal("version", *j.Version, uint64(0))
		w.equal("create index", *j.CreateIndex, r.JobModifyIndex)
		w.equal("job modify index of the job", *j.JobModifyIndex, r.JobModifyIndex)
		w.equal("pool", *j.NodePool, "default")
		w.awaitStatus(w.name, "running")
		e := w.awaitEval(r.EvalID)
		w.equal("status", e.Status, "complete")
		w.equal("trigger", e.TriggeredBy, "job-register")
		w.equal("job modify index of the evaluation", e.JobModifyIndex, r.JobModifyIndex)
		w.equal("queued", e.QueuedAllocations["web"], 0)
	}},
	{"job-register-unchanged", func(w *world) {
		w.awaitEval(w.register(w.job(0)).EvalID)
		before := w.info(w.name)
		r := w.register(w.job(0))
		after := w.info(w.name)
		w.equal("version", *after.Version, *before.Version)
		w.equal("job modify index", *after.JobModifyIndex, *before.JobModifyIndex)
		w.equal("index of the answer", r.JobModifyIndex, *before.ModifyIndex)
		w.holds("a new evaluation", r.EvalID != "" && r.EvalCreateIndex > *before.ModifyIndex)
	}},
	{"job-register-changed", func(w *world) {
		w.register(w.job(0))
		r := w.register(w.job(0, func(j *nomad.Job) { j.Meta = map[string]string{"a": "b"} }))
		j := w.info(w.name)
		w.equal("version", *j.Version, uint64(1))
		w.equal("job modify index", *j.JobModifyIndex, r.JobModifyIndex)
		w.holds("created before", *j.CreateIndex < *j.JobModifyIndex)
		vs, _, _, err := w.nomad.Jobs().Versions(w.name, false, nil)
		w.ok(err)
		w.equal("versions", len(vs), 2)
		w.equal("newest first", *vs[0].Version, uint64(1))
	}},
	{"job-enforce-index", func(w *world) {
		w.made = append(w.made, w.job(0))
		jobs := w.nomad.Jobs()
		_, _, err := jobs.EnforceRegister(w.job(0), 7, nil)
		w.fails(err, 500, "Enforcing job modify index 7: job does not exist")
		r, _, err := jobs.EnforceRegister(w.job(0), 0, nil)
		w.ok(err)
		_, _, err = jobs.EnforceRegister(w.job(0), 0, nil)
		w.fails(err, 500, "Enforcing job modify index 0: job already exists")
		_, _, err = jobs.EnforceRegister(w.job(0), 1, nil)
		w.fails(err, 500, "Enforcing job modify index 1: job exists with conflicting job modify index:")
		_, _, err = jobs.EnforceRegister(w.job(0, withPort), r.JobModifyIndex, nil)
		w.ok(err)
	}},
	{"job-count-left-out", func(w *world) {
		w.register(w.job(0, func(j *nomad.Job) { j.TaskGroups[0].Count = nil }))
		w.equal("count", *w.info(w.name).TaskGroups[0].Count, 1)
	}},
	{"job-count-left-out-min-0", func(w *world) {
		born := w.job(0, scaling(0, 3), func(j *nomad.Job) { j.TaskGroups[0].Count = nil })
		r := w.register(born)
		w.awaitEval(r.EvalID)
		j := w.info(w.name)
		w.equal("count", *j.TaskGroups[0].Count, 0)
		w.equal("status", *j.Status, "dead")
		w.equal("stop", *j.Stop, false)
		w.equal("allocations", len(w.allocs(w.name)), 0)
		w.scale(w.name, 2)
		w.awaitAllocs(w.name, "running", 2)
		w.register(w.job(0, scaling(0, 3), func(j *nomad.Job) { j.TaskGroups[0].Count = nil }))
		w.equal("count after it was registered again", *w.info(w.name).TaskGroups[0].Count, 0)
	}},
	{"job-preserve-counts", func(w *world) {
		w.register(w.job(0))
		w.scale(w.name, 2)
		next := w.job(0, func(j *nomad.Job) { j.Meta = map[string]string{"v": "2"} })
		_, _, err := w.nomad.Jobs().RegisterOpts(next, &nomad.RegisterOptions{PreserveCounts: true},
			nil)
		w.ok(err)
		j := w.info(w.name)
		w.equal("count", *j.TaskGroups[0].Count, 2)
		w.equal("meta", j.Meta["v"], "2")
	}},
	{"job-invalid", func(w *world) {
		try := func(want string, change func(*nomad.Job)) {
			w.Helper()
			_, _, err := w.nomad.Jobs().Register(w.job(1, change), nil)
			w.fails(err, 500, want)
		}
		try("Missing job task groups", func(j *nomad.Job) { j.TaskGroups = nil })
		try("Task group count can't be negative",
			func(j *nomad.Job) { j.TaskGroups[0].Count = new(-1) })
		try("Missing tasks for task group", func(j *nomad.Job) { j.TaskGroups[0].Tasks = nil })
		try("maximum count must not be less than minimum count", scaling(3, 1))
		try("task group count must not be greater than maximum count in scaling policy",
			func(j *nomad.Job) { scaling(0, 1)(j); j.TaskGroups[0].Count = new(2) })
		try("task group count must not be less than minimum count in scaling policy", scaling(2, 3))
		try("maximum count must be specified and non-negative",
			func(j *nomad.Job) { j.TaskGroups[0].Scaling = &nomad.ScalingPolicy{Min: new(int64(0))} })
		try("Invalid job type", func(j *nomad.Job) { j.Type = new("magic") })
		try("Job ID contains a space", func(j *nomad.Job) { j.ID = new("a b") })
		try("nonexistent namespace", func(j *nomad.Job) { j.Namespace = new("nowhere") })
	}},
	{"job-bad-request", func(w *world) {
		w.refused("PUT", "/v1/jobs", "", 400, "Request body is empty")
		w.refused("PUT", "/v1/jobs", "{", 400, "unexpected EOF")
		w.refused("PUT", "/v1/jobs", "{}", 400, "Job must be specified")
		w.refused("PUT", "/v1/jobs", `{"Job":{}}`, 400, "Job ID hasn't been provided")
		w.refused("PUT", "/v1/job/other", `{"Job":{"ID":"x"}}`, 400, "Job ID does not match name")
		w.refused("DELETE", "/v1/jobs", "", 405, "Invalid method")
		w.refused("PUT", "/v1/jobs",
			`{"Job":{"ID":"x","Type":"system","TaskGroups":[{"Scaling":{"Max":1}}]}}`,
			400, "Task groups with job type system do not support scaling blocks")
		w.refused("GET", "/v1/nonsense", "", 404, "")
	}},
	{"job-type-change", func(w *world) {
		w.register(w.job(0))
		_, _, err := w.nomad.Jobs().Register(w.job(0, func(j *nomad.Job) {
			j.Type, j.TaskGroups[0].Update = new("batch"), nil
		}), nil)
		w.fails(err, 500, `cannot update job from type "service" to "batch"`)
	}},
	{"job-not-found", func(w *world) {
		for path, text := range map[string]string{
			"":          "job not found",
			"/scale":    "job not found",
			"/summary":  "job not found",
			"/versions": "job versions not found",
		} {
			w.refused("GET", "/v1/job/"+w.name+path, "", 404, text)
		}
		for _, path := range []string{"/allocations", "/evaluations", "/deployments"} {
			a := w.do("GET", "/v1/job/"+w.name+path, "")
			w.equal(path, a.code, http.StatusOK)
			w.equal(path, a.body, "[]")
		}
		w.equal("latest deployment", w.do("GET", "/v1/job/"+w.name+"/deployment", "").code,
			http.StatusOK)
	}},
	{"job-list", func(w *world) {
		w.register(w.job(0, func(j *nomad.Job) { j.Meta = map[string]string{"k": "v"} }))
		stubs, meta, err := w.nomad.Jobs().List(&nomad.QueryOptions{Prefix: w.name})
		w.ok(err)
		w.equal("stubs", len(stubs), 1)
		s, j := stubs[0], w.info(w.name)
		w.equal("ID", s.ID, w.name)
		w.equal("namespace", s.Namespace, "default")
		w.equal("type", s.Type, "service")
		w.equal("job modify index", s.JobModifyIndex, *j.JobModifyIndex)
		w.equal("meta", len(s.Meta), 0)
		w.holds("a group in the summary", len(s.JobSummary.Summary) == 1)
		w.holds("an index", meta.LastIndex >= s.ModifyIndex)
		stubs, _, err = w.nomad.Jobs().List(&nomad.QueryOptions{
			Prefix: w.name, Namespace: "*", Params: map[string]string{"meta": "true"}})
		w.ok(err)
		w.equal("meta when asked for", stubs[0].Meta["k"], "v")
		stubs, _, err = w.nomad.Jobs().List(&nomad.QueryOptions{Prefix: w.name + "-none"})
		w.ok(err)
		w.equal("stubs of another prefix", len(stubs), 0)
	}},
	{"job-id-with-slash", func(w *world) {
		id := w.name + "/a b"[:2]
		w.register(w.job(0, func(j *nomad.Job) { j.ID, j.Name = &id, &id }))
		w.equal("ID", *w.info(id).ID, id)
		w.scale(id, 1)
		st, _, err := w.nomad.Jobs().ScaleStatus(id, nil)
		w.ok(err)
		w.equal("desired", st.TaskGroups["web"].Desired, 1)
	}},
	{"job-namespaces", func(w *world) {
		ns := "contract-ns"
		_, err := w.nomad.Namespaces().Register(&nomad.Namespace{Name: ns}, nil)
		w.ok(err)
		j := w.job(0, func(j *nomad.Job) { j.Namespace = &ns })
		w.register(j)
		_, _, err = w.nomad.Jobs().Info(w.name, nil)
		w.fails(err, 404, "job not found")
		all, _, err := w.nomad.Jobs().List(&nomad.QueryOptions{Prefix: w.name, Namespace: "*"})
		w.ok(err)
		w.equal("jobs of all namespaces", len(all), 1)
		w.equal("namespace", all[0].Namespace, ns)
		none, _, err := w.nomad.Jobs().List(&nomad.QueryOptions{Prefix: w.name})
		w.ok(err)
		w.equal("jobs of the default namespace", len(none), 0)
		names, _, err := w.nomad.Namespaces().List(nil)
		w.ok(err)
		w.holds("both namespaces", len(names) >= 2)
		_, _, err = w.nomad.Jobs().Scale(w.name, "web", new(1), "", false, nil,
			&nomad.WriteOptions{Namespace: ns})
		w.ok(err)
	}},
	{"job-stop", func(w *world) {
		w.register(w.job(1))
		w.awaitAllocs(w.name, "running", 1)
		evalID, _, err := w.nomad.Jobs().Deregister(w.name, false, nil)
		w.ok(err)
		e := w.awaitEval(evalID)
		w.equal("trigger", e.TriggeredBy, "job-deregister")
		a := w.awaitAllocs(w.name, "complete", 1)[0]
		w.equal("desired", a.DesiredStatus, "stop")
		w.equal("why", a.DesiredDescription, "alloc not needed due to job update")
		j := w.info(w.name)
		w.equal("stop", *j.Stop, true)
		w.equal("status", *j.Status, "dead")
		w.equal("version", *j.Version, uint64(1))
		w.equal("count", *j.TaskGroups[0].Count, 1)
		w.register(w.job(1))
		w.equal("stop after it was registered again", *w.info(w.name).Stop, false)
		w.awaitAllocs(w.name, "running", 1)
	}},
	{"job-purge", func(w *world) {
		out := filepath.Join(w.TempDir(), "pid")
		w.register(w.job(1,
			script("{ echo $$; echo end; } > "+out+".tmp; mv "+out+".tmp "+out+"; exec sleep 600")))
		id := w.awaitAllocs(w.name, "running", 1)[0].ID
		pid, err := strconv.Atoi(strings.Fields(w.awaitFile(out))[0])
		w.ok(err)
		evalID, _, err := w.nomad.Jobs().Deregister(w.name, true, nil)
		w.ok(err)
		w.holds("an evaluation", evalID != "")
		_, _, err = w.nomad.Jobs().Info(w.name, nil)
		w.fails(err, 404, "job not found")
		w.equal("allocations", len(w.allocs(w.name)), 0)
		w.refused("GET", "/v1/allocation/"+id, "", 404, "alloc not found")
		w.eventually("the process is gone", func() (string, bool) {
			return "", errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
		})
		r := w.register(w.job(0))
		w.equal("version starts anew", *w.info(w.name).Version, uint64(0))
		w.equal("created anew", *w.info(w.name).CreateIndex, r.JobModifyIndex)
	}},
	{"job-deregister-unknown", func(w *world) {
		a := w.do("DELETE", "/v1/job/"+w.name, "")
		w.equal("status", a.code, http.StatusOK)
		var r nomad.JobDeregisterResponse
		a.decode(w, &r)
		w.equal("evaluation", r.EvalID, "")
	}},
	{"job-summary", func(w *world) {
		w.register(w.job(1))
		w.awaitAllocs(w.name, "running", 1)
		s, _, err := w.nomad.Jobs().Summary(w.name, nil)
		w.ok(err)
		w.equal("running", s.Summary["web"].Running, 1)
		w.equal("starting", s.Summary["web"].Starting, 0)
		w.scale(w.name, 0)
		w.eventually("complete is counted", func() (string, bool) {
			s, _, err := w.nomad.Jobs().Summary(w.name, nil)
			w.ok(err)
			return "", s.Summary["web"].Complete == 1 && s.Summary["web"].Running == 0
		})
	}},
	{"job-evaluate", func(w *world) {
		w.register(w.job(0))
		id, _, err := w.nomad.Jobs().ForceEvaluate(w.name, nil)
		w.ok(err)
		w.equal("status", w.awaitEval(id).Status, "complete")
	}},
}
