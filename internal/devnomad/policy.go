package devnomad

import (
	"net/http"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// stampPolicies gives every scaling block its ID, kept over re-registrations,
// and its indexes; an unchanged block keeps its modify index.
func (t *tx) stampPolicies(j, old *nomad.Job) {
	for _, g := range j.TaskGroups {
		if g.Scaling == nil {
			continue
		}
		p := *g.Scaling
		p.ID, p.CreateIndex, p.ModifyIndex = newID(), t.index, t.index
		if was := policyOf(old, *g.Name); was != nil {
			p.ID, p.CreateIndex = was.ID, was.CreateIndex
			if samePolicy(was, &p) {
				p.ModifyIndex = was.ModifyIndex
			}
		}
		if p.ModifyIndex == t.index {
			t.touch(tablePolicies)
		}
		g.Scaling = &p
	}
	if old != nil && slices.ContainsFunc(old.TaskGroups, func(g *nomad.TaskGroup) bool {
		return g.Scaling != nil && policyOf(j, *g.Name) == nil
	}) {
		t.touch(tablePolicies)
	}
}

// disablePolicies turns the scaling blocks of a stopped job off, as Nomad does.
func (t *tx) disablePolicies(j *nomad.Job) {
	for _, g := range j.TaskGroups {
		if g.Scaling != nil {
			p := *g.Scaling
			p.Enabled, p.ModifyIndex = new(false), t.index
			g.Scaling = &p
			t.touch(tablePolicies)
		}
	}
}

func policyOf(j *nomad.Job, group string) *nomad.ScalingPolicy {
	if j == nil {
		return nil
	}
	if g := groupOf(j, group); g != nil {
		return g.Scaling
	}
	return nil
}

// samePolicy compares what a user can write, whatever its form in memory.
func samePolicy(a, b *nomad.ScalingPolicy) bool {
	wrap := func(p *nomad.ScalingPolicy) *nomad.Job {
		return &nomad.Job{TaskGroups: []*nomad.TaskGroup{{Scaling: p}}}
	}
	return sameSpec(wrap(a), wrap(b))
}

// eachPolicy calls f for every scaling policy in the query's reach.
func eachPolicy(s *store, q query, caps []string, f func(*nomad.Job, *nomad.ScalingPolicy)) {
	for _, k := range sortedKeys(s.jobs) {
		if !q.within(k.ns, caps...) {
			continue
		}
		for _, g := range s.jobs[k].TaskGroups {
			if g.Scaling != nil {
				f(s.jobs[k], g.Scaling)
			}
		}
	}
}

// serveScalingPolicies serves GET /v1/scaling/policies.
func (c *Cluster) serveScalingPolicies(w http.ResponseWriter, r *http.Request) (any, error) {
	caps := []string{"list-scaling-policies", "read-job"}
	job, kind := r.URL.Query().Get("job"), r.URL.Query().Get("type")
	return c.read(w, r, func(s *store, q query) (found, error) {
		if err := q.require(caps...); err != nil {
			return found{}, err
		}
		stubs := []*nomad.ScalingPolicyListStub{}
		eachPolicy(s, q, caps, func(j *nomad.Job, p *nomad.ScalingPolicy) {
			if job != "" && *j.ID != job || kind != "" && p.Type != kind ||
				!strings.HasPrefix(p.ID, q.prefix) {
				return
			}
			stubs = append(stubs, &nomad.ScalingPolicyListStub{
				ID: p.ID, Enabled: *p.Enabled, Type: p.Type, Target: p.Target,
				CreateIndex: p.CreateIndex, ModifyIndex: p.ModifyIndex,
			})
		})
		return found{obj: stubs, index: max(1, s.tables[tablePolicies])}, nil
	})
}

// serveScalingPolicy serves GET /v1/scaling/policy/:id.
func (c *Cluster) serveScalingPolicy(w http.ResponseWriter, r *http.Request) (any, error) {
	id := strings.TrimPrefix(r.URL.Path, "/v1/scaling/policy/")
	caps := []string{"read-scaling-policy", "read-job"}
	return c.read(w, r, func(s *store, q query) (found, error) {
		if err := q.require(caps...); err != nil {
			return found{}, err
		}
		f := found{index: max(1, s.tables[tablePolicies]), missing: "policy not found"}
		q.ns = allNamespaces // a policy's ID is global
		eachPolicy(s, q, nil, func(_ *nomad.Job, p *nomad.ScalingPolicy) {
			if p.ID == id {
				f = found{obj: p, index: p.ModifyIndex}
			}
		})
		return f, nil
	})
}
