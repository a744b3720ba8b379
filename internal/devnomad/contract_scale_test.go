package devnomad_test

import (
	"fmt"
	"net/http"

	nomad "github.com/hashicorp/nomad/api"
)

var scaleCases = []contractCase{
	{"scale-up", func(w *world) {
		w.awaitEval(w.register(w.job(0)).EvalID)
		r := w.scale(w.name, 1)
		w.holds("the job comes before its evaluation", r.JobModifyIndex < r.EvalCreateIndex)
		e := w.awaitEval(r.EvalID)
		w.equal("trigger", e.TriggeredBy, "job-scaling")
		w.equal("status", e.Status, "complete")
		w.equal("job modify index", e.JobModifyIndex, r.JobModifyIndex)
		w.equal("deployment", e.DeploymentID, "")
		a := w.awaitAllocs(w.name, "running", 1)[0]
		w.equal("name", a.Name, w.name+".web[0]")
		w.equal("evaluation", a.EvalID, r.EvalID)
		w.equal("description", a.ClientDescription, "Tasks are running")
		w.equal("job type", a.JobType, "service")
	}},
	{"scale-to-zero", func(w *world) {
		w.register(w.job(1))
		w.awaitAllocs(w.name, "running", 1)
		w.scale(w.name, 0)
		w.awaitAllocs(w.name, "complete", 1)
		w.awaitStatus(w.name, "dead")
		j := w.info(w.name)
		w.equal("stop", *j.Stop, false)
		w.equal("count", *j.TaskGroups[0].Count, 0)
		ds, _, err := w.nomad.Jobs().Deployments(w.name, false, nil)
		w.ok(err)
		w.equal("deployments", len(ds), 0)
	}},
	{"scale-same-count", func(w *world) {
		w.register(w.job(1))
		before := w.info(w.name)
		r := w.scale(w.name, 1)
		j := w.info(w.name)
		w.equal("version", *j.Version, *before.Version+1)
		w.equal("job modify index", *j.JobModifyIndex, r.JobModifyIndex)
		w.holds("index has grown", r.JobModifyIndex > *before.JobModifyIndex)
		a := w.awaitAllocs(w.name, "running", 1)[0]
		w.eventually("the allocation runs the new version", func() (string, bool) {
			as := w.allocs(w.name)
			return fmt.Sprint(as[0].JobVersion), len(as) == 1 && as[0].ID == a.ID &&
				as[0].JobVersion == *j.Version
		})
	}},
	{"scale-bounds", func(w *world) {
		w.register(w.job(1, scaling(1, 2)))
		_, err := w.tryScale(w.name, 0)
		w.fails(err, 400, "group count was less than scaling policy minimum: 0 < 1")
		_, err = w.tryScale(w.name, 3)
		w.fails(err, 400, "group count was greater than scaling policy maximum: 3 > 2")
		w.equal("count", *w.info(w.name).TaskGroups[0].Count, 1)
	}},
	{"scale-no-block", func(w *world) {
		w.register(w.job(1))
		w.scale(w.name, 3)
		w.awaitAllocs(w.name, "running", 3)
	}},
	{"scale-bad-request", func(w *world) {
		w.register(w.job(0))
		path := "/v1/job/" + w.name + "/scale"
		for target, want := range map[string]string{
			`"Count":-1,"Target":{"Group":"web"}`: "scaling action count can't be negative",
			`"Count":1,"Target":{"Group":"nope"}`: `task group "nope" specified for scaling does not exist in job`,
			`"Count":1`:                           "missing task group name for scaling action",
			`"Count":1,"Error":true,"Target":{"Group":"web"}`: "scaling action should not contain " +
				"count if error is true",
			`"Count":1,"Target":{"Group":"web","Job":"x"}`: "job ID in payload did not match URL",
			`"Count":1,"Target":{"Group":"web","Namespace":"x"}`: "namespace in payload did not " +
				"match header",
		} {
			w.refused("PUT", path, "{"+target+"}", 400, want)
		}
		w.refused("PUT", path, "{", 400, "unexpected EOF")
		w.refused("PUT", path, "", 400, "Request body is empty")
		w.refused("PUT", "/v1/job/no-"+w.name+"/scale", `{"Count":1,"Target":{"Group":"web"}}`,
			404, fmt.Sprintf("job %q not found", "no-"+w.name))
		w.refused("DELETE", path, "", 405, "Invalid method")
	}},
	{"scale-enforcing-index", func(w *world) {
		w.register(w.job(0))
		index := *w.info(w.name).JobModifyIndex
		body := func(n int, index uint64) string {
			return fmt.Sprintf(`{"Count":%d,"JobModifyIndex":%d,"Target":{"Group":"web"}}`, n, index)
		}
		w.refused("PUT", "/v1/job/"+w.name+"/scale", body(1, index-1), 500, fmt.Sprintf(
			"Enforcing job modify index %d: job exists with conflicting job modify index: %d",
			index-1, index))
		w.equal("count", *w.info(w.name).TaskGroups[0].Count, 0)
		a := w.do("PUT", "/v1/job/"+w.name+"/scale", body(1, index))
		w.equal("status with the right index", a.code, http.StatusOK)
	}},
	{"scale-event-only", func(w *world) {
		w.awaitEval(w.register(w.job(0)).EvalID)
		before := w.info(w.name)
		r, _, err := w.nomad.Jobs().ScaleWithRequest(w.name, &nomad.ScalingRequest{
			Target: map[string]string{"Group": "web"}, Message: "remember",
			Meta: map[string]any{"count": 3, "s": "x"},
		}, nil)
		w.ok(err)
		w.equal("evaluation", r.EvalID, "")
		after := w.info(w.name)
		w.equal("version", *after.Version, *before.Version)
		w.equal("job modify index", *after.JobModifyIndex, *before.JobModifyIndex)
		st, meta, err := w.nomad.Jobs().ScaleStatus(w.name, nil)
		w.ok(err)
		ev := st.TaskGroups["web"].Events[0]
		w.equal("message", ev.Message, "remember")
		w.equal("meta", ev.Meta, map[string]any{"count": 3.0, "s": "x"})
		w.holds("no count", ev.Count == nil && ev.EvalID == nil)
		w.equal("index", meta.LastIndex, ev.CreateIndex)
	}},
	{"scale-error-event", func(w *world) {
		w.register(w.job(0))
		_, _, err := w.nomad.Jobs().Scale(w.name, "web", nil, "it broke", true, nil, nil)
		w.ok(err)
		st, _, err := w.nomad.Jobs().ScaleStatus(w.name, nil)
		w.ok(err)
		w.equal("error", st.TaskGroups["web"].Events[0].Error, true)
	}},
	{"scale-status", func(w *world) {
		w.register(w.job(0))
		r := w.scale(w.name, 2)
		w.awaitAllocs(w.name, "running", 2)
		st, _, err := w.nomad.Jobs().ScaleStatus(w.name, nil)
		w.ok(err)
		j := w.info(w.name)
		w.equal("job", st.JobID, w.name)
		w.equal("namespace", st.Namespace, "default")
		w.equal("job modify index is the job's modify index", st.JobModifyIndex, *j.ModifyIndex)
		w.equal("job create index", st.JobCreateIndex, *j.CreateIndex)
		g := st.TaskGroups["web"]
		w.equal("counts", []int{g.Desired, g.Placed, g.Running, g.Healthy, g.Unhealthy},
			[]int{2, 2, 2, 0, 0})
		w.equal("events", len(g.Events), 1)
		w.equal("previous count", g.Events[0].PreviousCount, int64(0))
		w.equal("count", *g.Events[0].Count, int64(2))
		w.equal("evaluation", *g.Events[0].EvalID, r.EvalID)
		w.equal("meta", g.Events[0].Meta["case"], any(w.name))
	}},
	{"scale-events-kept", func(w *world) {
		w.register(w.job(0))
		for i := range 22 {
			_, _, err := w.nomad.Jobs().Scale(w.name, "web", nil, fmt.Sprint(i), false, nil, nil)
			w.ok(err)
		}
		events := func() []nomad.ScalingEvent {
			st, _, err := w.nomad.Jobs().ScaleStatus(w.name, nil)
			w.ok(err)
			return st.TaskGroups["web"].Events
		}
		w.equal("kept", len(events()), 20)
		w.equal("newest first", events()[0].Message, "21")
		w.equal("oldest", events()[19].Message, "2")
		w.register(w.job(0, withPort))
		w.equal("kept over a registration", len(events()), 20)
		_, _, err := w.nomad.Jobs().Deregister(w.name, true, nil)
		w.ok(err)
		w.register(w.job(0))
		w.equal("gone with the job", len(events()), 0)
	}},
	{"scale-stopped-job", func(w *world) {
		w.register(w.job(1))
		_, _, err := w.nomad.Jobs().Deregister(w.name, false, nil)
		w.ok(err)
		w.awaitEval(w.scale(w.name, 2).EvalID)
		j := w.info(w.name)
		w.equal("count", *j.TaskGroups[0].Count, 2)
		w.equal("stop", *j.Stop, true)
		w.awaitAllocs(w.name, "running", 0)
	}},
	{"scale-one-of-two-groups", func(w *world) {
		w.register(w.job(1, func(j *nomad.Job) {
			g := nomad.NewTaskGroup("api", 1)
			g.Tasks, g.Update = []*nomad.Task{sleeper("other")}, j.TaskGroups[0].Update
			j.TaskGroups = append(j.TaskGroups, g)
		}))
		before := w.awaitAllocs(w.name, "running", 2)
		w.scale(w.name, 0)
		w.awaitAllocs(w.name, "complete", 1)
		after := w.awaitAllocs(w.name, "running", 1)
		w.equal("group that runs on", after[0].TaskGroup, "api")
		w.equal("status", *w.info(w.name).Status, "running")
		for _, a := range before {
			if a.TaskGroup == "api" {
				w.equal("the same allocation", after[0].ID, a.ID)
			}
		}
		st, _, err := w.nomad.Jobs().ScaleStatus(w.name, nil)
		w.ok(err)
		w.equal("desired", st.TaskGroups["api"].Desired, 1)
	}},
	{"scale-down-highest-first", func(w *world) {
		w.register(w.job(3))
		w.awaitAllocs(w.name, "running", 3)
		w.scale(w.name, 1)
		w.awaitAllocs(w.name, "complete", 2)
		w.equal("kept", w.awaitAllocs(w.name, "running", 1)[0].Name, w.name+".web[0]")
	}},
	{"scale-batch", func(w *world) {
		w.register(w.job(0, func(j *nomad.Job) { j.Type, j.TaskGroups[0].Update = new("batch"), nil }))
		w.scale(w.name, 1)
		w.awaitAllocs(w.name, "running", 1)
	}},
	{"scale-system", func(w *world) {
		w.register(w.job(1, func(j *nomad.Job) { j.Type = new("system") }))
		w.awaitAllocs(w.name, "running", 1)
		_, err := w.tryScale(w.name, 2)
		w.fails(err, 400, `jobs of type "system" can only be scaled between 0 and 1`)
		w.scale(w.name, 0)
		w.awaitAllocs(w.name, "complete", 1)
		w.equal("status", *w.info(w.name).Status, "running")
	}},
	{"scale-headers", func(w *world) {
		w.register(w.job(0))
		a := w.do("PUT", "/v1/job/"+w.name+"/scale", `{"Count":0,"Target":{"Group":"web"}}`)
		var r struct {
			Index       uint64
			KnownLeader bool
		}
		a.decode(w, &r)
		w.equal("index header", a.header.Get("X-Nomad-Index"), fmt.Sprint(r.Index))
		w.equal("known leader", r.KnownLeader, true)
		w.equal("content type", a.header.Get("Content-Type"), "application/json")
		a = w.do("GET", "/v1/job/"+w.name+"/scale", "")
		w.equal("known leader header", a.header.Get("X-Nomad-KnownLeader"), "true")
		w.equal("last contact header", a.header.Get("X-Nomad-LastContact"), "0")
	}},
}

var policyCases = []contractCase{
	{"policy-shape", func(w *world) {
		doze := map[string]any{"doze": []any{map[string]any{
			"idle_after": "5m", "wake_count": 2,
			"probe": []any{map[string]any{"http": []any{map[string]any{"path": "/x"}}}},
			"route": []any{map[string]any{"hosts": []any{"a.example.com", "b.example.com"}}},
		}}}
		w.register(w.job(0, scaling(0, 3),
			func(j *nomad.Job) { j.TaskGroups[0].Scaling.Policy = doze }))
		p := w.policy("web")
		w.equal("policy", p.Policy, map[string]any{"doze": []any{map[string]any{
			"idle_after": "5m", "wake_count": 2.0,
			"probe": []any{map[string]any{"http": []any{map[string]any{"path": "/x"}}}},
			"route": []any{map[string]any{"hosts": []any{"a.example.com", "b.example.com"}}},
		}}})
		w.equal("bounds", []int64{*p.Min, *p.Max}, []int64{0, 3})
		w.equal("enabled", *p.Enabled, true)
		w.equal("type", p.Type, "horizontal")
		w.equal("target", p.Target, map[string]string{"Namespace": "default", "Job": w.name,
			"Group": "web"})
		w.equal("policy in the job", w.info(w.name).TaskGroups[0].Scaling.Policy, p.Policy)
	}},
	{"policy-identity", func(w *world) {
		w.register(w.job(0, scaling(0, 3)))
		first := w.policy("web")
		w.scale(w.name, 1)
		w.equal("untouched by a scale", w.policy("web").ModifyIndex, first.ModifyIndex)
		w.register(w.job(0, scaling(0, 4)))
		second := w.policy("web")
		w.equal("ID", second.ID, first.ID)
		w.equal("create index", second.CreateIndex, first.CreateIndex)
		w.holds("modify index has grown", second.ModifyIndex > first.ModifyIndex)
		w.register(w.job(0))
		w.equal("gone with its block", len(w.policies()), 0)
		w.refused("GET", "/v1/scaling/policy/"+first.ID, "", 404, "policy not found")
	}},
	{"policy-stopped-and-purged", func(w *world) {
		w.register(w.job(0, scaling(0, 3)))
		_, _, err := w.nomad.Jobs().Deregister(w.name, false, nil)
		w.ok(err)
		stopped := w.policies()
		w.equal("policies of a stopped job", len(stopped), 1)
		w.equal("enabled in a stopped job", stopped[0].Enabled, false)
		w.equal("modified by the stop", stopped[0].ModifyIndex, *w.info(w.name).JobModifyIndex)
		w.register(w.job(0, scaling(0, 3)))
		w.equal("enabled in the job started again", w.policies()[0].Enabled, true)
		_, _, err = w.nomad.Jobs().Deregister(w.name, true, nil)
		w.ok(err)
		w.equal("policies of a purged job", len(w.policies()), 0)
	}},
	{"policy-disabled", func(w *world) {
		w.register(w.job(0, scaling(0, 3),
			func(j *nomad.Job) { j.TaskGroups[0].Scaling.Enabled = new(false) }))
		w.equal("enabled", w.policies()[0].Enabled, false)
	}},
}

// policies lists the scaling policies of the case's job.
func (w *world) policies() []*nomad.ScalingPolicyListStub {
	w.Helper()
	mine := &nomad.QueryOptions{Params: map[string]string{"job": w.name}}
	ps, _, err := w.nomad.Scaling().ListPolicies(mine)
	w.ok(err)
	return ps
}

func (w *world) policy(group string) *nomad.ScalingPolicy {
	w.Helper()
	for _, stub := range w.policies() {
		if stub.Target["Group"] == group {
			p, meta, err := w.nomad.Scaling().GetPolicy(stub.ID, nil)
			w.ok(err)
			w.equal("index", meta.LastIndex, p.ModifyIndex)
			return p
		}
	}
	w.Fatalf("no policy of group %q", group)
	return nil
}
