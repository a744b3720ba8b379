package jobs

import (
	"fmt"
	"slices"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

// GroupShape is what a policy is checked against: the parts of the job around the block.
// The zero value is a service job's group without ports.
type GroupShape struct {
	ID            idle.GroupID
	JobType       string           // "": service
	Periodic      bool             // the job has a periodic block
	Parameterized bool             // the job has a parameterized block
	Min           int              // scaling.min
	Max           int              // scaling.max
	Ports         []string         // port labels of the group's networks, in order
	Services      []*nomad.Service // of the group and its tasks, in order
}

// ShapeOf reads the shape of one group of a job. Fields that are left out count as Nomad
// counts them.
func ShapeOf(job *nomad.Job, tg *nomad.TaskGroup) GroupShape {
	g := GroupShape{
		ID:            groupID(job, tg),
		JobType:       deref(job.Type),
		Periodic:      job.Periodic != nil,
		Parameterized: job.ParameterizedJob != nil,
		Services:      slices.Clone(tg.Services),
		Ports:         portLabels(tg.Networks),
	}
	if tg.Scaling != nil {
		g.Min, g.Max = countOf(tg), int(deref(tg.Scaling.Max))
		if tg.Scaling.Min != nil {
			g.Min = int(*tg.Scaling.Min)
		}
	}
	for _, task := range tg.Tasks {
		if task != nil {
			g.Services = append(g.Services, task.Services...)
		}
	}
	return g
}

// path is the head of every Diagnostic's path.
func (g GroupShape) path() string { return fmt.Sprintf("group %q", g.ID.Group) }

func groupID(job *nomad.Job, tg *nomad.TaskGroup) idle.GroupID {
	id := idle.GroupID{
		Namespace: deref(job.Namespace),
		Job:       deref(job.ID),
		Group:     deref(tg.Name),
	}
	if id.Namespace == "" {
		id.Namespace = nomad.DefaultNamespace
	}
	if id.Job == "" {
		id.Job = deref(job.Name)
	}
	return id
}

// countOf returns a group's count; left out, Nomad takes scaling.min, else 1.
func countOf(tg *nomad.TaskGroup) int {
	switch {
	case tg.Count != nil:
		return *tg.Count
	case tg.Scaling != nil && tg.Scaling.Min != nil:
		return int(*tg.Scaling.Min)
	}
	return 1
}

// portLabels returns the labels of all ports, fixed ones first.
func portLabels(networks []*nomad.NetworkResource) []string {
	var labels []string
	for _, n := range networks {
		if n == nil {
			continue
		}
		for _, p := range slices.Concat(n.ReservedPorts, n.DynamicPorts) {
			if p.Label != "" {
				labels = append(labels, p.Label)
			}
		}
	}
	return labels
}

// deref returns what p points at; nil is the zero value, as in Nomad's own types.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
