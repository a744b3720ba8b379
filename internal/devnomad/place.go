package devnomad

import (
	"fmt"
	"reflect"

	nomad "github.com/hashicorp/nomad/api"
)

// offer is what the node gives to one allocation.
type offer struct {
	resources *nomad.AllocatedResources
	metrics   *nomad.AllocationMetric
}

// sameTasks says whether an allocation of an older version can go on running
// under the new one: everything that reaches the tasks is equal.
func sameTasks(old, j *nomad.Job, group string) bool {
	a, b := groupOf(old, group), groupOf(j, group)
	if a == nil || b == nil {
		return false
	}
	shared := len(a.Tasks) > 0 && len(b.Tasks) > 0 && a.Tasks[0] == b.Tasks[0]
	if shared && reflect.DeepEqual(old.Meta, j.Meta) {
		return true // the versions differ by a count
	}
	return sameSpec(taskSpec(old, a), taskSpec(j, b))
}

// taskSpec wraps what of a group reaches its tasks.
func taskSpec(j *nomad.Job, g *nomad.TaskGroup) *nomad.Job {
	bare := &nomad.TaskGroup{
		Name: g.Name, Networks: g.Networks, EphemeralDisk: g.EphemeralDisk, Meta: g.Meta,
		Volumes: g.Volumes,
	}
	for _, t := range g.Tasks {
		c := *t
		c.RestartPolicy, c.Services, c.Constraints, c.Affinities = nil, nil, nil, nil
		c.KillTimeout, c.ShutdownDelay = nil, 0
		bare.Tasks = append(bare.Tasks, &c)
	}
	return &nomad.Job{Meta: j.Meta, TaskGroups: []*nomad.TaskGroup{bare}}
}

// offer looks whether the node can take one more allocation of a group. It
// returns no offer, and why in Nomad's terms, if it cannot.
func (t *tx) offer(p *plan, g *nomad.TaskGroup) (*offer, *nomad.AllocationMetric) {
	n := t.node
	m := &nomad.AllocationMetric{
		NodesEvaluated: 1, NodesInPool: 1, NodePool: deref(p.job.NodePool),
		NodesAvailable: map[string]int{n.datacenter: 1},
	}
	if !n.inDatacenter(p.job.Datacenters) {
		m.NodesEvaluated, m.NodesAvailable = 0, map[string]int{}
		return nil, m
	}
	if why := n.filter(p.job, g); why != "" {
		m.NodesFiltered, m.ConstraintFiltered = 1, map[string]int{why: 1}
		return nil, m
	}
	u := t.usage(p)
	if why := u.exceeds(n, g); why != "" {
		m.NodesExhausted, m.DimensionExhausted = 1, map[string]int{why: 1}
		return nil, m
	}
	res, why := u.allocate(n, g)
	if why != "" {
		m.NodesExhausted, m.DimensionExhausted = 1, map[string]int{why: 1}
		return nil, m
	}
	return &offer{resources: res, metrics: m}, nil
}

// usage is what is taken on the node, this plan included.
type usage struct {
	cpu, memory int64
	ports       map[int]bool
}

func (t *tx) usage(p *plan) *usage {
	u := &usage{ports: map[int]bool{}}
	for _, a := range t.allocs {
		if _, stops := p.stop[a.ID]; !stops && !terminal(a) {
			u.add(a.AllocatedResources)
		}
	}
	for _, pl := range p.place {
		u.add(pl.offer.resources)
	}
	return u
}

func (u *usage) add(r *nomad.AllocatedResources) {
	for _, t := range r.Tasks {
		u.cpu += t.Cpu.CpuShares
		u.memory += t.Memory.MemoryMB
	}
	for _, p := range r.Shared.Ports {
		u.ports[p.Value] = true
	}
}

func (u *usage) exceeds(n *node, g *nomad.TaskGroup) string {
	cpu, memory := u.cpu, u.memory
	for _, t := range g.Tasks {
		cpu += int64(deref(t.Resources.CPU))
		memory += int64(deref(t.Resources.MemoryMB))
	}
	switch {
	case cpu > int64(n.cpu):
		return "cpu"
	case memory > int64(n.memory):
		return "memory"
	}
	return ""
}

func (u *usage) allocate(n *node, g *nomad.TaskGroup) (*nomad.AllocatedResources, string) {
	out := &nomad.AllocatedResources{Tasks: map[string]*nomad.AllocatedTaskResources{}}
	for _, t := range g.Tasks {
		out.Tasks[t.Name] = &nomad.AllocatedTaskResources{
			Cpu:    nomad.AllocatedCpuResources{CpuShares: int64(deref(t.Resources.CPU))},
			Memory: nomad.AllocatedMemoryResources{MemoryMB: int64(deref(t.Resources.MemoryMB))},
		}
	}
	if g.EphemeralDisk != nil {
		out.Shared.DiskMB = int64(deref(g.EphemeralDisk.SizeMB))
	}
	for _, net := range g.Networks {
		got := &nomad.NetworkResource{Mode: net.Mode, IP: n.address}
		if why := u.allocatePorts(n, net, got, &out.Shared.Ports); why != "" {
			return nil, why
		}
		out.Shared.Networks = append(out.Shared.Networks, got)
	}
	return out, ""
}

func (u *usage) allocatePorts(
	n *node, net, got *nomad.NetworkResource, ports *[]nomad.PortMapping,
) string {
	for _, p := range net.ReservedPorts {
		if u.ports[p.Value] {
			return fmt.Sprintf("network: reserved port collision %s=%d", p.Label, p.Value)
		}
		u.ports[p.Value] = true
		got.ReservedPorts = append(got.ReservedPorts, p)
		*ports = append(*ports, n.mapping(p))
	}
	for _, p := range net.DynamicPorts {
		if p.Value = n.freePort(u.ports); p.Value == 0 {
			return "network: dynamic port selection failed"
		}
		u.ports[p.Value] = true
		got.DynamicPorts = append(got.DynamicPorts, p)
		*ports = append(*ports, n.mapping(p))
	}
	return ""
}

func (n *node) mapping(p nomad.Port) nomad.PortMapping {
	return nomad.PortMapping{Label: p.Label, Value: p.Value, To: p.To, HostIP: n.address}
}
