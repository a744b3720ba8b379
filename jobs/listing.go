package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

const (
	listWithin  = 2 * time.Minute // a complete listing
	jobsAtOnce  = 8               // jobs read at the same time
	jobsPage    = 5000            // jobs per page; Nomad goes over all before it, each time
	allocsPage  = 1000            // allocations per page; they come with their resources
	allocsAlive = `DesiredStatus == "run" and ClientStatus != "complete" and ` +
		`ClientStatus != "failed" and ClientStatus != "lost"`
)

// jobStub is what tells whether a job has to be read: thousands of them are listed, so
// only these fields are decoded.
type jobStub struct {
	ID             string
	Namespace      string
	Stop           bool
	CreateIndex    uint64
	JobModifyIndex uint64
}

func (s jobStub) id() idle.GroupID { return idle.GroupID{Namespace: s.Namespace, Job: s.ID} }

// policyStub is what tells whether a job has a scaling block.
type policyStub struct {
	Target struct{ Namespace, Job string }
}

// listing is a complete look at Nomad: every job that has a scaling block and runs.
type listing struct {
	known   map[idle.GroupID]stamp // before it was taken
	reached uint64                 // the index that Nomad had certainly reached then

	index       uint64                      // what happened up to it is in the listing
	allocsIndex uint64                      // the same for allocs
	same        map[idle.GroupID]bool       // jobs that are as known says
	changed     []version                   // jobs that are new or were changed
	allocs      []*nomad.AllocationListStub // alive, of all jobs, with resources
}

// take takes a complete look at the namespaces; "*" is every one that the token may read.
// Jobs that are as known says are not read again.
func (l *listing) take(ctx context.Context, c client, namespaces []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, listWithin, errNoAnswer)
	defer cancel()
	for _, ns := range namespaces {
		if err := l.addNamespace(ctx, c, ns); err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) addNamespace(ctx context.Context, c client, ns string) error {
	stubs, index, err := pages[jobStub](ctx, c, "list the jobs", "/v1/jobs", jobsQuery(ns))
	if err != nil {
		return err
	}
	l.index = earlier(l.index, index)
	scaled, err := c.scaledJobs(ctx, ns)
	if err != nil {
		return err
	}
	if err := l.read(ctx, c, l.unknown(stubs, scaled)); err != nil {
		return err
	}
	allocs, index, err := pages[*nomad.AllocationListStub](ctx, c, "list the allocations",
		"/v1/allocations", allocsQuery(ns))
	l.allocsIndex = earlier(l.allocsIndex, index)
	l.allocs = append(l.allocs, allocs...)
	return err
}

// earlier returns the lower of two indexes; 0 means none yet.
func earlier(a, b uint64) uint64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

func jobsQuery(ns string) nomad.QueryOptions {
	return nomad.QueryOptions{Namespace: ns, PerPage: jobsPage, Filter: "Stop == false"}
}

func allocsQuery(ns string) nomad.QueryOptions {
	return nomad.QueryOptions{
		Namespace: ns, PerPage: allocsPage, Filter: allocsAlive,
		Params: map[string]string{"resources": "true", "task_states": "false"},
	}
}

// pages reads a paginated list to its end. The index is that of the first page.
func pages[T any](ctx context.Context, c client, what, path string,
	query nomad.QueryOptions) (all []T, index uint64, err error) {
	for {
		page, meta, err := reading(ctx, c, what,
			func(q *nomad.QueryOptions) ([]T, *nomad.QueryMeta, error) {
				var page []T
				meta, err := c.api.Raw().Query(path, &page, query.WithContext(q.Context()))
				return page, meta, err
			})
		if err != nil {
			return nil, 0, err
		}
		if index == 0 {
			index = max(meta.LastIndex, 1)
		}
		all = append(all, page...)
		if query.NextToken = meta.NextToken; query.NextToken == "" {
			return all, index, nil
		}
	}
}

// scaledJobs returns the jobs that have a scaling block in any group. Nomad does not cut
// this list into pages, so it is read one policy at a time.
func (c client) scaledJobs(ctx context.Context, ns string) (map[idle.GroupID]bool, error) {
	jobs := map[idle.GroupID]bool{}
	_, _, err := reading(ctx, c, "list the scaling policies",
		func(q *nomad.QueryOptions) (none struct{}, _ *nomad.QueryMeta, _ error) {
			q.Namespace = ns
			body, err := c.api.Raw().Response("/v1/scaling/policies", q)
			if err != nil {
				return none, nil, err
			}
			defer body.Close()
			return none, nil, eachOf(body, func(p policyStub) {
				jobs[idle.GroupID{Namespace: p.Target.Namespace, Job: p.Target.Job}] = true
			})
		})
	return jobs, err
}

// eachOf calls each for every element of a JSON array; null is an empty one.
func eachOf[T any](r io.Reader, each func(T)) error {
	array := json.NewDecoder(r)
	begin, err := array.Token()
	if err != nil || begin == nil {
		return err
	}
	if begin != json.Delim('[') {
		return &json.UnmarshalTypeError{Value: "something else", Type: reflect.TypeFor[[]T]()}
	}
	for array.More() {
		var element T
		if err := array.Decode(&element); err != nil {
			return err
		}
		each(element)
	}
	_, err = array.Token()
	return err
}

// unknown returns the jobs that have to be read, and notes the others as unchanged.
func (l *listing) unknown(stubs []jobStub, scaled map[idle.GroupID]bool) []idle.GroupID {
	var ids []idle.GroupID
	for _, s := range stubs {
		id := s.id()
		switch {
		case s.Stop || !scaled[id]:
		case l.known[id] == stamp{s.CreateIndex, s.JobModifyIndex}:
			l.same[id] = true
		default:
			ids = append(ids, id)
		}
	}
	return ids
}

// read reads the jobs, some at a time. One that is gone meanwhile is left out.
func (l *listing) read(ctx context.Context, c client, ids []idle.GroupID) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		work sync.WaitGroup
		lock sync.Mutex
		next = make(chan idle.GroupID)
	)
	for range min(jobsAtOnce, len(ids)) {
		work.Go(func() {
			var scratch bytes.Buffer
			for id := range next {
				job, err := c.viewJob(ctx, id, &scratch)
				switch {
				case errors.Is(err, errGone):
				case err != nil:
					cancel(err)
				default:
					v := versionOf(job)
					lock.Lock()
					l.changed = append(l.changed, v)
					lock.Unlock()
				}
			}
		})
	}
	for _, id := range ids {
		next <- id
	}
	close(next)
	work.Wait()
	return context.Cause(ctx)
}
