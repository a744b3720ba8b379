package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

// jobView is the part of a job that versionOf looks at. A listing reads thousands of jobs,
// so only this tenth of each is decoded.
type jobView struct {
	ID, Name, Namespace, Type                *string
	Stop                                     *bool
	CreateIndex, ModifyIndex, JobModifyIndex *uint64
	Periodic                                 *struct{}
	ParameterizedJob                         *struct{}
	TaskGroups                               []groupView
}

type groupView struct {
	Name     *string
	Count    *int
	Scaling  *nomad.ScalingPolicy
	Networks []*nomad.NetworkResource
	Services []*nomad.Service
	Tasks    []struct{ Services []*nomad.Service }
}

// job returns a job that has what the view has, and nothing else.
func (v *jobView) job() *nomad.Job {
	j := &nomad.Job{
		ID: v.ID, Name: v.Name, Namespace: v.Namespace, Type: v.Type, Stop: v.Stop,
		CreateIndex: v.CreateIndex, ModifyIndex: v.ModifyIndex,
		JobModifyIndex: v.JobModifyIndex,
		TaskGroups:     make([]*nomad.TaskGroup, len(v.TaskGroups)),
	}
	if v.Periodic != nil {
		j.Periodic = &nomad.PeriodicConfig{}
	}
	if v.ParameterizedJob != nil {
		j.ParameterizedJob = &nomad.ParameterizedJobConfig{}
	}
	for i := range v.TaskGroups {
		j.TaskGroups[i] = v.TaskGroups[i].group()
	}
	return j
}

func (v *groupView) group() *nomad.TaskGroup {
	tg := &nomad.TaskGroup{
		Name: v.Name, Count: v.Count, Scaling: v.Scaling, Networks: v.Networks,
		Services: v.Services,
	}
	for _, task := range v.Tasks {
		tg.Tasks = append(tg.Tasks, &nomad.Task{Services: task.Services})
	}
	return tg
}

// viewJob reads a job's view; scratch is used again and again.
func (c client) viewJob(ctx context.Context, id idle.GroupID,
	scratch *bytes.Buffer) (*nomad.Job, error) {
	view, _, err := reading(ctx, c, "read job "+quoted(id.Job),
		func(q *nomad.QueryOptions) (*jobView, *nomad.QueryMeta, error) {
			q.Namespace = id.Namespace
			body, err := c.api.Raw().Response("/v1/job/"+url.PathEscape(id.Job), q)
			if err != nil {
				return nil, nil, err
			}
			defer body.Close()
			scratch.Reset()
			if _, err := scratch.ReadFrom(body); err != nil {
				return nil, nil, err
			}
			view := new(jobView)
			return view, nil, json.Unmarshal(scratch.Bytes(), view)
		})
	if err != nil {
		return nil, err
	}
	return view.job(), nil
}
