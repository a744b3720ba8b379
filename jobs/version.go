package jobs

import (
	"slices"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

// stamp tells one version of a job from another.
type stamp struct{ created, modified uint64 }

func stampOf(j *nomad.Job) stamp {
	return stamp{deref(j.CreateIndex), deref(j.JobModifyIndex)}
}

// version is what one version of a job says about Doze. It keeps nothing else of the job.
type version struct {
	stamp
	id       idle.GroupID // its Group is empty
	seen     uint64       // raft index of the job
	groups   []*Managed
	problems Diagnostics
}

// versionOf reads a job.
func versionOf(j *nomad.Job) version {
	v := version{
		stamp: stampOf(j), seen: deref(j.ModifyIndex),
		id: idle.GroupID{Namespace: deref(j.Namespace), Job: deref(j.ID)},
	}
	for _, tg := range j.TaskGroups {
		managed, wrong := ReadGroup(j, tg)
		v.problems = appendNew(v.problems, wrong)
		if managed != nil {
			v.groups = append(v.groups, managed)
		}
	}
	return v
}

// appendNew leaves out what was said before: what is wrong with a job is wrong with each of
// its groups.
func appendNew(all, more Diagnostics) Diagnostics {
	for _, d := range more {
		if !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// has reports whether the version manages a group of that name.
func (v *version) has(name string) bool {
	return slices.ContainsFunc(v.groups, func(m *Managed) bool { return m.ID.Group == name })
}

// leftAlone says why a group of a job that goes on is no longer managed.
func (v *version) leftAlone(name string) string {
	for _, d := range v.problems {
		if d.Group.Group == name || d.Group.Group == "" {
			return "its policy is wrong: " + d.String()
		}
	}
	return "it no longer opts in"
}
