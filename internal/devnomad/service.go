package devnomad

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// registerServices announces the Nomad services of a group ("group-web") or of a
// task; those of Consul are nobody's here.
func (r *allocRun) registerServices(services []*nomad.Service, owner string) {
	var regs []*nomad.ServiceRegistration
	for _, s := range services {
		if s.Provider != "nomad" {
			continue
		}
		reg := r.registration(s, owner)
		regs = append(regs, reg)
		r.startChecks(s, reg)
	}
	if len(regs) == 0 {
		return
	}
	_, err := r.c.store.commit(typeServiceUp, func(t *tx) error {
		for _, reg := range regs {
			reg.CreateIndex, reg.ModifyIndex = t.index, t.index
			t.services[reg.ID] = reg
			t.touch(tableServices)
			t.emit(serviceEvent(reg))
		}
		return nil
	})
	if err != nil {
		r.c.log.Error("service registration lost", "alloc", r.placed.ID, "error", err)
	}
}

func (r *allocRun) registration(s *nomad.Service, owner string) *nomad.ServiceRegistration {
	a, n := r.placed, r.c.node
	names := map[string]string{
		"JOB": a.JobID, "TASKGROUP": a.TaskGroup, "TASK": owner, "BASE": a.JobID + "-" + a.TaskGroup,
	}
	name := interpolate(n, names, s.Name)
	return &nomad.ServiceRegistration{
		ID:          fmt.Sprintf("_nomad-task-%s-%s-%s-%s", a.ID, owner, name, s.PortLabel),
		ServiceName: name, Namespace: a.Namespace, NodeID: n.id, Datacenter: n.datacenter,
		JobID: a.JobID, AllocID: a.ID, Tags: s.Tags, Address: n.address, Port: portOf(a, s.PortLabel),
	}
}

// portOf finds the port of a label; a number stands for itself.
func portOf(a *nomad.Allocation, label string) int {
	for _, p := range a.AllocatedResources.Shared.Ports {
		if p.Label == label {
			return p.Value
		}
	}
	n, err := strconv.Atoi(label)
	if err != nil {
		return 0
	}
	return n
}

// deregisterServices withdraws whatever the allocation announced.
func (r *allocRun) deregisterServices() {
	_, err := r.c.store.commit(typeServiceDown, func(t *tx) error {
		gone := 0
		for id, reg := range t.services {
			if reg.AllocID == r.placed.ID {
				delete(t.services, id)
				t.touch(tableServices)
				t.emit(serviceEvent(reg))
				gone++
			}
		}
		if gone == 0 {
			return errNoPlan
		}
		return nil
	})
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		clear(r.checks)
	}
}

// delayShutdown withdraws the services first, and then waits as the group and
// the task say, unless an operator wants no delay.
func (r *allocRun) delayShutdown(task time.Duration) {
	r.deregisterServices()
	r.mu.Lock()
	skip := r.noDelay
	r.mu.Unlock()
	if delay := max(task, deref(r.group().ShutdownDelay)); !skip {
		sleep(r.c.ctx, delay)
	}
}

// serveServices serves GET /v1/services: names and tags by namespace.
func (c *Cluster) serveServices(w http.ResponseWriter, r *http.Request) (any, error) {
	return c.read(w, r, func(s *store, q query) (found, error) {
		if err := q.require("read-job"); err != nil {
			return found{}, err
		}
		tags := map[key]map[string]bool{}
		for _, reg := range s.services {
			if k := (key{reg.Namespace, reg.ServiceName}); q.within(k.ns, "read-job") {
				if tags[k] == nil {
					tags[k] = map[string]bool{}
				}
				for _, tag := range reg.Tags {
					tags[k][tag] = true
				}
			}
		}
		out := []*nomad.ServiceRegistrationListStub{}
		for _, k := range sortedKeys(tags) {
			if len(out) == 0 || out[len(out)-1].Namespace != k.ns {
				out = append(out, &nomad.ServiceRegistrationListStub{Namespace: k.ns})
			}
			last := out[len(out)-1]
			last.Services = append(last.Services, &nomad.ServiceRegistrationStub{
				ServiceName: k.id, Tags: sortedTags(tags[k]),
			})
		}
		return found{obj: out, index: max(1, s.tables[tableServices])}, nil
	})
}

func sortedTags(set map[string]bool) []string {
	out := []string{}
	for t := range set {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// serveService serves GET /v1/service/:name, with choose=N|key.
func (c *Cluster) serveService(w http.ResponseWriter, r *http.Request) (any, error) {
	name, choose := strings.TrimPrefix(r.URL.Path, "/v1/service/"), r.URL.Query().Get("choose")
	return c.read(w, r, func(s *store, q query) (found, error) {
		if err := q.require("read-job"); err != nil {
			return found{}, err
		}
		regs := pickServices(s, func(reg *nomad.ServiceRegistration) bool {
			return reg.ServiceName == name && reg.Namespace == q.ns
		})
		if choose != "" {
			var err error
			if regs, err = chosen(regs, choose); err != nil {
				return found{}, err
			}
		}
		return found{obj: regs, index: max(1, s.tables[tableServices])}, nil
	})
}

// chosen takes N of the registrations by rendezvous hashing on the key.
func chosen(regs []*nomad.ServiceRegistration, choose string) ([]*nomad.ServiceRegistration, error) {
	num, hash, _ := strings.Cut(choose, "|")
	n, err := strconv.Atoi(num)
	if err != nil || hash == "" {
		return nil, fail(http.StatusBadRequest, "Failed to choose services: "+
			"expected value in form of \"<int>|<string>\"")
	}
	score := func(r *nomad.ServiceRegistration) uint64 {
		h := fnv.New64a()
		h.Write([]byte(hash + r.ID)) // never fails (hash.Hash)
		return h.Sum64()
	}
	slices.SortFunc(regs, func(a, b *nomad.ServiceRegistration) int {
		return newerFirst(score(a), score(b))
	})
	return regs[:min(max(n, 0), len(regs))], nil
}

func pickServices(s *store, want func(*nomad.ServiceRegistration) bool) []*nomad.ServiceRegistration {
	out := []*nomad.ServiceRegistration{}
	for _, reg := range s.services {
		if want(reg) {
			out = append(out, reg)
		}
	}
	slices.SortFunc(out, func(a, b *nomad.ServiceRegistration) int {
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

func readJobServices(s *store, _ query, k key, _ *http.Request) found {
	if s.jobs[k] == nil {
		return found{index: max(1, s.tables[tableServices]), missing: jobNotFound}
	}
	regs := pickServices(s, func(reg *nomad.ServiceRegistration) bool {
		return reg.JobID == k.id && reg.Namespace == k.ns
	})
	return found{obj: regs, index: max(1, s.tables[tableServices])}
}

func allocServices(s *store, q query, id string) (found, error) {
	a := s.allocs[id]
	switch {
	case a == nil && q.grants.management:
		return found{index: max(1, s.tables[tableServices]), missing: "allocation not found"}, nil
	case a == nil, !q.grants.allow(a.Namespace, "read-job"):
		return found{}, errForbidden
	}
	regs := pickServices(s, func(reg *nomad.ServiceRegistration) bool { return reg.AllocID == id })
	return found{obj: regs, index: max(1, s.tables[tableServices])}, nil
}
