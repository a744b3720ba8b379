package jobs

import (
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2"
	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

// jobReader reads of an HCL job file what Doze has to know. It evaluates what can be known
// without a cluster; outside the doze block, what cannot is taken as left out.
type jobReader struct {
	*jobFile
	scope *hcl.EvalContext
}

func newJobReader(f *jobFile, body hcl.Body) *jobReader {
	return &jobReader{jobFile: f, scope: newScope(body)}
}

// job reads the file's job block.
func (r *jobReader) job(file hcl.Body) *nomad.Job {
	blocks := blocksIn(file, "job", "name")
	if len(blocks) != 1 {
		r.found = append(r.found, Diagnostic{
			Problem: fmt.Sprintf("the file has %d job blocks", len(blocks)),
			Hint:    `a job file has one: job "web" { … }`,
		})
		return nil
	}
	b := scoped{blocks[0].Body, r.scope, blocks[0].Labels, blocks[0].DefRange}
	r.mark("job", b.at)
	job := &nomad.Job{ID: new(b.label()), Name: new(b.label())}
	if id, ok := r.text(b, "id"); ok {
		job.ID = &id
	}
	if ns, ok := r.text(b, "namespace"); ok {
		job.Namespace = &ns
	}
	if t, ok := r.text(b, "type"); ok {
		job.Type = &t
		r.mark("job > type", attribute(b.body, "type").Range)
	}
	if periodic, ok := b.first("periodic"); ok {
		job.Periodic = &nomad.PeriodicConfig{}
		r.mark("job > periodic", periodic.at)
	}
	if parameterized, ok := b.first("parameterized"); ok {
		job.ParameterizedJob = &nomad.ParameterizedJobConfig{}
		r.mark("job > parameterized", parameterized.at)
	}
	r.groups(b, job)
	return job
}

// groups reads every group of the job.
func (r *jobReader) groups(job scoped, to *nomad.Job) {
	groups, unknown := job.inside("group", "name")
	for _, dynamic := range unknown {
		r.notWrittenOut(dynamic, groupID(to, &nomad.TaskGroup{}))
	}
	for _, g := range groups {
		to.TaskGroups = append(to.TaskGroups, r.group(g, to))
	}
}

// notWrittenOut reports groups that are not known to be there, if they may be Doze's.
func (r *jobReader) notWrittenOut(dynamic scoped, job idle.GroupID) {
	content, ok := dynamic.first("content")
	if !ok {
		return
	}
	if _, scales := content.first("scaling"); !scales {
		return
	}
	to := &report{group: job}
	at := place{`job > dynamic "group"`, to}
	r.mark(at.path, dynamic.at)
	at.fault("for_each cannot be evaluated here",
		"its groups are not checked; give its variables defaults")
	r.found = append(r.found, to.found...)
}

// group reads one group; of one that has no scaling block, only its name.
func (r *jobReader) group(g scoped, job *nomad.Job) *nomad.TaskGroup {
	tg := &nomad.TaskGroup{Name: new(g.label())}
	path := fmt.Sprintf("group %q", g.label())
	r.mark(path, g.at)
	scaling, ok := g.first("scaling")
	if !ok {
		return tg
	}
	r.mark(path+" > scaling", scaling.at)
	at := place{path, &report{group: groupID(job, tg)}}
	tg.Scaling = r.scaling(scaling, at.under("scaling"))
	tg.Networks = r.networks(g, at)
	if optsIn(tg.Scaling) {
		r.found = append(r.found, at.to.found...)
	}
	if n, ok := r.number(g, "count"); ok {
		tg.Count = new(int(n))
	}
	tg.Services = r.services(g)
	tasks, _ := g.inside("task", "name")
	for _, task := range tasks {
		tg.Tasks = append(tg.Tasks, &nomad.Task{Services: r.services(task)})
	}
	return tg
}

// networks reads the labels of the group's ports. Where there may be more than can be
// known, it says so.
func (r *jobReader) networks(g scoped, at place) []*nomad.NetworkResource {
	var all []*nomad.NetworkResource
	networks, vague := g.inside("network")
	for _, n := range networks {
		network := &nomad.NetworkResource{}
		ports, vaguePorts := n.inside("port", "label")
		for _, p := range ports {
			network.DynamicPorts = append(network.DynamicPorts, nomad.Port{Label: p.label()})
		}
		all, vague = append(all, network), append(vague, vaguePorts...)
	}
	for _, dynamic := range vague {
		here := at.under(fmt.Sprintf("dynamic %q", dynamic.label()))
		r.mark(here.path, dynamic.at)
		here.fault("for_each cannot be evaluated here",
			"the group's ports are not known; give its variables defaults")
	}
	return all
}

// services reads what the default probe is taken from.
func (r *jobReader) services(in scoped) []*nomad.Service {
	var all []*nomad.Service
	services, _ := in.inside("service")
	for _, s := range services {
		service := &nomad.Service{}
		service.PortLabel, _ = r.text(s, "port")
		checks, _ := s.inside("check")
		for _, c := range checks {
			service.Checks = append(service.Checks, r.check(c))
		}
		all = append(all, service)
	}
	return all
}

func (r *jobReader) check(c scoped) nomad.ServiceCheck {
	check := nomad.ServiceCheck{
		Interval: r.duration(c, "interval"),
		Timeout:  r.duration(c, "timeout"),
	}
	for name, to := range map[string]*string{
		"type": &check.Type, "path": &check.Path, "port": &check.PortLabel,
		"method": &check.Method, "protocol": &check.Protocol, "body": &check.Body,
		"grpc_service": &check.GRPCService,
	} {
		*to, _ = r.text(c, name)
	}
	if tls, ok := r.value(c, "grpc_use_tls").(bool); ok {
		check.GRPCUseTLS = tls
	}
	if header, ok := c.first("header"); ok {
		check.Header = r.header(header)
	}
	return check
}

func (r *jobReader) header(h scoped) map[string][]string {
	header := map[string][]string{}
	attrs, _ := h.body.JustAttributes()
	for name, attr := range attrs {
		list, _ := listOf(r.evaluate(attr.Expr, h.scope))
		for _, item := range list {
			if s, ok := item.(string); ok {
				header[name] = append(header[name], s)
			}
		}
	}
	return header
}

// value evaluates an attribute; nil where it is left out or cannot be known.
func (r *jobReader) value(b scoped, name string) any {
	attr := attribute(b.body, name)
	if attr == nil {
		return nil
	}
	return r.evaluate(attr.Expr, b.scope)
}

func (r *jobReader) text(b scoped, name string) (string, bool) {
	s, ok := r.value(b, name).(string)
	return s, ok
}

func (r *jobReader) number(b scoped, name string) (float64, bool) {
	return numberOf(r.value(b, name))
}

func (r *jobReader) duration(b scoped, name string) time.Duration {
	s, _ := r.text(b, name)
	d, _ := time.ParseDuration(s) // 0, the probe's default, where Nomad will refuse it
	return d
}

// evaluate returns what an expression is, as plain Go; nil where that cannot be known. What
// only a running task has stays as text, as Nomad leaves it.
func (r *jobReader) evaluate(e hcl.Expression, scope *hcl.EvalContext) any {
	if runtimeOnly(e, scope) != "" {
		return r.source(e)
	}
	v, diags := e.Value(scope)
	if diags.HasErrors() {
		return nil
	}
	value, _ := plain(v)
	return value
}
