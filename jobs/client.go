package jobs

import (
	"context"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

const (
	callTimeout = 10 * time.Second // of a plain call; a Nomad that hangs is one that is away
	blockFor    = 60 * time.Second // of a blocking query
)

// client is the part of Nomad's HTTP API that this package uses. Every call is bounded in
// time, and its error says what could not be done and why (see explain).
type client struct {
	api *nomad.Client
}

// reading asks once, within callTimeout.
func reading[T any](ctx context.Context, c client, what string,
	ask func(*nomad.QueryOptions) (T, *nomad.QueryMeta, error)) (T, *nomad.QueryMeta, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	out, meta, err := ask((&nomad.QueryOptions{}).WithContext(ctx))
	return out, meta, c.explain(ctx, what, err)
}

// blocking asks once and lets Nomad answer when something has changed since index.
func blocking[T any](ctx context.Context, c client, what string, index uint64,
	ask func(*nomad.QueryOptions) (T, *nomad.QueryMeta, error)) (T, *nomad.QueryMeta, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, blockFor+blockFor/8+callTimeout, errNoAnswer)
	defer cancel()
	q := &nomad.QueryOptions{WaitIndex: index, WaitTime: blockFor}
	out, meta, err := ask(q.WithContext(ctx))
	return out, meta, c.explain(ctx, what, err)
}

func (c client) job(ctx context.Context, id idle.GroupID) (*nomad.Job, error) {
	job, _, err := reading(ctx, c, "read job "+quoted(id.Job),
		func(q *nomad.QueryOptions) (*nomad.Job, *nomad.QueryMeta, error) {
			q.Namespace = id.Namespace
			return c.api.Jobs().Info(id.Job, q)
		})
	return job, err
}

func (c client) scaleStatus(ctx context.Context,
	id idle.GroupID) (*nomad.JobScaleStatusResponse, error) {
	status, _, err := reading(ctx, c, "read the scale status of job "+quoted(id.Job),
		func(q *nomad.QueryOptions) (*nomad.JobScaleStatusResponse, *nomad.QueryMeta, error) {
			q.Namespace = id.Namespace
			return c.api.Jobs().ScaleStatus(id.Job, q)
		})
	return status, err
}

// evaluation waits until the evaluation has changed since index; 0 answers at once.
func (c client) evaluation(ctx context.Context, ns, id string,
	index uint64) (*nomad.Evaluation, uint64, error) {
	ev, meta, err := blocking(ctx, c, "read evaluation "+quoted(id), index,
		func(q *nomad.QueryOptions) (*nomad.Evaluation, *nomad.QueryMeta, error) {
			q.Namespace = ns
			return c.api.Evaluations().Info(id, q)
		})
	if err != nil {
		return nil, 0, err
	}
	return ev, meta.LastIndex, nil
}

// evaluations returns a job's evaluations, the newest first.
func (c client) evaluations(ctx context.Context,
	id idle.GroupID) ([]*nomad.Evaluation, error) {
	evs, _, err := reading(ctx, c, "list the evaluations of job "+quoted(id.Job),
		func(q *nomad.QueryOptions) ([]*nomad.Evaluation, *nomad.QueryMeta, error) {
			q.Namespace = id.Namespace
			return c.api.Jobs().Evaluations(id.Job, q)
		})
	return evs, err
}

// allocations waits until a job's allocations have changed since index; 0 answers at once.
// The stubs carry task states but no resources.
func (c client) allocations(ctx context.Context, id idle.GroupID,
	index uint64) ([]*nomad.AllocationListStub, uint64, error) {
	stubs, meta, err := blocking(ctx, c, "list the allocations of job "+quoted(id.Job), index,
		func(q *nomad.QueryOptions) ([]*nomad.AllocationListStub, *nomad.QueryMeta, error) {
			q.Namespace = id.Namespace
			return c.api.Jobs().Allocations(id.Job, false, q)
		})
	if err != nil {
		return nil, 0, err
	}
	return stubs, meta.LastIndex, nil
}

func (c client) allocation(ctx context.Context, ns, id string) (*nomad.Allocation, error) {
	alloc, _, err := reading(ctx, c, "read allocation "+quoted(id),
		func(q *nomad.QueryOptions) (*nomad.Allocation, *nomad.QueryMeta, error) {
			q.Namespace = ns
			return c.api.Allocations().Info(id, q)
		})
	return alloc, err
}

// namespaces returns the names of the namespaces the token may see, once they have changed
// since index; 0 answers at once.
func (c client) namespaces(ctx context.Context, index uint64) ([]string, uint64, error) {
	list, meta, err := blocking(ctx, c, "list the namespaces", index,
		func(q *nomad.QueryOptions) ([]*nomad.Namespace, *nomad.QueryMeta, error) {
			return c.api.Namespaces().List(q)
		})
	if err != nil {
		return nil, 0, err
	}
	names := make([]string, len(list))
	for i, ns := range list {
		names[i] = ns.Name
	}
	return names, meta.LastIndex, nil
}

// scale sends one scaling request, within callTimeout.
func (c client) scale(ctx context.Context, id idle.GroupID,
	req *nomad.ScalingRequest) (*nomad.JobRegisterResponse, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	req.Target = map[string]string{
		"Namespace": id.Namespace, "Job": id.Job, "Group": id.Group,
	}
	q := (&nomad.WriteOptions{Namespace: id.Namespace}).WithContext(ctx)
	resp, _, err := c.api.Jobs().ScaleWithRequest(id.Job, req, q)
	return resp, c.explain(ctx, "scale "+id.String(), err)
}

// register submits the job again, provided that nobody has changed it since it was read.
func (c client) register(ctx context.Context,
	job *nomad.Job) (*nomad.JobRegisterResponse, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	opts := &nomad.RegisterOptions{
		EnforceIndex: true,
		ModifyIndex:  deref(job.JobModifyIndex),
	}
	q := (&nomad.WriteOptions{Namespace: deref(job.Namespace)}).WithContext(ctx)
	resp, _, err := c.api.Jobs().RegisterOpts(job, opts, q)
	return resp, c.explain(ctx, "register job "+quoted(deref(job.ID)), err)
}
