package devnomad_test

import (
	"fmt"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// rolling gives the group an update block that needs so long to be healthy.
func rolling(healthy time.Duration) func(*nomad.Job) {
	return func(j *nomad.Job) {
		j.TaskGroups[0].Update = &nomad.UpdateStrategy{
			MaxParallel: new(1), HealthCheck: new("task_states"), MinHealthyTime: &healthy,
			HealthyDeadline: new(healthy + time.Hour), ProgressDeadline: new(healthy + 2*time.Hour),
		}
	}
}

func (w *world) deployment(job string) *nomad.Deployment {
	w.Helper()
	d, _, err := w.nomad.Jobs().LatestDeployment(job, nil)
	w.ok(err)
	return d
}

func (w *world) awaitDeployment(job, status string) *nomad.Deployment {
	w.Helper()
	var d *nomad.Deployment
	w.eventually("deployment is "+status, func() (string, bool) {
		if d = w.deployment(job); d == nil {
			return "none", false
		}
		return fmt.Sprintf("%s %+v", d.Status, d.TaskGroups["web"]), d.Status == status
	})
	return d
}

var deploymentCases = []contractCase{
	{"deployment-blocks-scaling", func(w *world) {
		w.register(w.job(0, rolling(time.Hour)))
		w.holds("no deployment at count 0", w.deployment(w.name) == nil)
		e := w.awaitEval(w.scale(w.name, 1).EvalID)
		d := w.awaitDeployment(w.name, "running")
		w.equal("deployment of the evaluation", e.DeploymentID, d.ID)
		w.equal("description", d.StatusDescription, "Deployment is running")
		w.equal("desired", d.TaskGroups["web"].DesiredTotal, 1)
		w.equal("placed", d.TaskGroups["web"].PlacedAllocs, 1)
		w.equal("job version", d.JobVersion, uint64(1))
		for _, n := range []int{0, 1, 2} {
			_, err := w.tryScale(w.name, n)
			w.fails(err, 400, "job scaling blocked due to active deployment")
		}
		_, _, err := w.nomad.Jobs().Scale(w.name, "web", nil, "an event is not blocked", false, nil,
			nil)
		w.ok(err)
	}},
	{"deployment-default-update", func(w *world) {
		w.register(w.job(1, func(j *nomad.Job) { j.TaskGroups[0].Update = nil }))
		d := w.awaitDeployment(w.name, "running")
		w.equal("progress deadline", d.TaskGroups["web"].ProgressDeadline, 10*time.Minute)
		u := w.info(w.name).TaskGroups[0].Update
		w.equal("min healthy time", *u.MinHealthyTime, 10*time.Second)
		w.equal("max parallel", *u.MaxParallel, 1)
		w.equal("health check", *u.HealthCheck, "checks")
	}},
	{"deployment-succeeds", func(w *world) {
		w.register(w.job(0, rolling(0)))
		w.scale(w.name, 1)
		d := w.awaitDeployment(w.name, "successful")
		w.equal("description", d.StatusDescription, "Deployment completed successfully")
		w.equal("healthy", d.TaskGroups["web"].HealthyAllocs, 1)
		a := w.awaitAllocs(w.name, "running", 1)[0]
		w.equal("healthy allocation", *a.DeploymentStatus.Healthy, true)
		w.equal("stable", *w.info(w.name).Stable, true)
		w.scale(w.name, 0)
		w.awaitAllocs(w.name, "complete", 1)
		w.equal("no deployment for a scale to 0", w.deployment(w.name).ID, d.ID)
	}},
	{"deployment-superseded-by-register", func(w *world) {
		w.register(w.job(1, rolling(time.Hour)))
		d := w.awaitDeployment(w.name, "running")
		w.register(w.job(0, rolling(time.Hour)))
		w.eventually("old deployment is cancelled", func() (string, bool) {
			got, _, err := w.nomad.Deployments().Info(d.ID, nil)
			w.ok(err)
			return got.Status, got.Status == "cancelled" &&
				got.StatusDescription == "Cancelled due to newer version of job"
		})
		w.awaitAllocs(w.name, "complete", 1)
		w.scale(w.name, 1)
	}},
	{"deployment-cancelled-by-stop", func(w *world) {
		w.register(w.job(1, rolling(time.Hour)))
		w.awaitDeployment(w.name, "running")
		_, _, err := w.nomad.Jobs().Deregister(w.name, false, nil)
		w.ok(err)
		w.equal("description", w.awaitDeployment(w.name, "cancelled").StatusDescription,
			"Cancelled because job is stopped")
	}},
	{"deployment-fail", func(w *world) {
		w.register(w.job(1, rolling(time.Hour)))
		d := w.awaitDeployment(w.name, "running")
		_, _, err := w.nomad.Deployments().Fail(d.ID, nil)
		w.ok(err)
		w.equal("description", w.awaitDeployment(w.name, "failed").StatusDescription,
			"Deployment marked as failed")
		w.scale(w.name, 0)
	}},
	{"deployment-not-found", func(w *world) {
		w.refused("GET", "/v1/deployment/"+nobody, "", 404, "deployment not found")
	}},
	{"deployment-down-to-one", func(w *world) {
		w.register(w.job(2, rolling(0)))
		first := w.awaitDeployment(w.name, "successful")
		w.awaitEval(w.scale(w.name, 1).EvalID)
		d := w.deployment(w.name)
		w.holds("the kept allocation is in a deployment again", d.ID != first.ID)
		w.equal("desired", d.TaskGroups["web"].DesiredTotal, 1)
	}},
}

func service(j *nomad.Job) {
	j.TaskGroups[0].Services = []*nomad.Service{{
		Name: *j.ID, PortLabel: "http", Provider: "nomad", Tags: []string{"b", "a"},
	}}
}

var serviceCases = []contractCase{
	{"service-life", func(w *world) {
		w.register(w.job(1, withPort, service))
		stub := w.awaitAllocs(w.name, "running", 1)[0]
		a, _, err := w.nomad.Allocations().Info(stub.ID, nil)
		w.ok(err)
		regs, _, err := w.nomad.Services().Get(w.name, nil)
		w.ok(err)
		w.equal("registrations", len(regs), 1)
		r := regs[0]
		w.equal("ID", r.ID, fmt.Sprintf("_nomad-task-%s-group-web-%s-http", a.ID, w.name))
		w.equal("address", r.Address, "127.0.0.1")
		w.equal("port", r.Port, a.AllocatedResources.Shared.Ports[0].Value)
		w.equal("owners", []string{r.JobID, r.AllocID, r.NodeID, r.Datacenter, r.Namespace},
			[]string{w.name, a.ID, a.NodeID, "dc1", "default"})
		w.equal("tags", r.Tags, []string{"b", "a"})
		list, _, err := w.nomad.Services().List(nil)
		w.ok(err)
		found := false
		for _, s := range list[0].Services {
			found = found || s.ServiceName == w.name
		}
		w.holds("it is listed", found)
		w.scale(w.name, 0)
		w.eventually("registration is gone", func() (string, bool) {
			regs, _, err := w.nomad.Services().Get(w.name, nil)
			w.ok(err)
			return fmt.Sprint(len(regs)), len(regs) == 0
		})
	}},
	{"service-events", func(w *world) {
		s := w.stream("topic=Service:" + w.name)
		s.line()
		w.register(w.job(1, withPort, service))
		e := last(s.until("Service/ServiceRegistration"))
		w.equal("filter keys", e.FilterKeys, []string{w.name, w.name})
		reg, err := e.Service()
		w.ok(err)
		w.equal("name", reg.ServiceName, w.name)
		w.scale(w.name, 0)
		w.equal("key", last(s.until("Service/ServiceDeregistration")).Key, e.Key)
	}},
	{"service-choose", func(w *world) {
		w.register(w.job(2, withPort, service))
		w.awaitAllocs(w.name, "running", 2)
		q := &nomad.QueryOptions{Params: map[string]string{"choose": "1|me"}}
		first, _, err := w.nomad.Services().Get(w.name, q)
		w.ok(err)
		again, _, err := w.nomad.Services().Get(w.name, q)
		w.ok(err)
		w.equal("chosen", len(first), 1)
		w.equal("always the same", again[0].ID, first[0].ID)
	}},
	{"service-check", func(w *world) {
		w.register(w.job(1, withPort, service, func(j *nomad.Job) {
			j.TaskGroups[0].Services[0].Checks = []nomad.ServiceCheck{{
				Type: "tcp", Interval: time.Second, Timeout: time.Second,
			}}
		}))
		a := w.awaitAllocs(w.name, "running", 1)[0]
		w.eventually("the check has failed, since nobody listens", func() (string, bool) {
			checks, err := w.nomad.Allocations().Checks(a.ID, nil)
			w.ok(err)
			for _, c := range checks {
				w.equal("service", c.Service, w.name)
				w.equal("name", c.Check, fmt.Sprintf("service: %q check", w.name))
				return c.Status, c.Status == "failure"
			}
			return "none", false
		})
	}},
}
