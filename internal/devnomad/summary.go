package devnomad

import nomad "github.com/hashicorp/nomad/api"

// summary counts a job's allocations by group and state.
func (s *store) summary(j *nomad.Job) *nomad.JobSummary {
	k := jobKey(j)
	at := s.summaryAt[k]
	out := &nomad.JobSummary{
		JobID: k.id, Namespace: k.ns, Children: &nomad.JobChildrenSummary{},
		Summary:     map[string]nomad.TaskGroupSummary{},
		CreateIndex: at[0], ModifyIndex: at[1],
	}
	for _, g := range j.TaskGroups {
		out.Summary[*g.Name] = nomad.TaskGroupSummary{Queued: s.queued(k, *g.Name)}
	}
	for _, a := range s.jobAllocs(k) {
		g := out.Summary[a.TaskGroup]
		switch a.ClientStatus {
		case "pending":
			g.Starting++
		case "running":
			g.Running++
		case "complete":
			g.Complete++
		case "failed":
			g.Failed++
		case "lost":
			g.Lost++
		}
		out.Summary[a.TaskGroup] = g
	}
	return out
}

// queued is what the newest evaluation could not place.
func (s *store) queued(k key, group string) int {
	evals := s.jobEvals(k)
	for i := len(evals) - 1; i >= 0; i-- {
		if n, ok := evals[i].QueuedAllocations[group]; ok {
			return n
		}
	}
	return 0
}

func (s *store) stub(j *nomad.Job) *nomad.JobListStub {
	return &nomad.JobListStub{
		ID: *j.ID, ParentID: *j.ParentID, Name: *j.Name, Namespace: *j.Namespace,
		Datacenters: j.Datacenters, Type: *j.Type, Priority: *j.Priority,
		Periodic: j.Periodic != nil, ParameterizedJob: j.ParameterizedJob != nil,
		Stop: *j.Stop, Status: *j.Status, StatusDescription: *j.StatusDescription,
		JobSummary: s.summary(j), CreateIndex: *j.CreateIndex, ModifyIndex: *j.ModifyIndex,
		JobModifyIndex: *j.JobModifyIndex, SubmitTime: *j.SubmitTime,
	}
}
