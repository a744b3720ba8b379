package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

const (
	shortStep   = 25 * time.Millisecond  // first pause before asking for a count again
	longStep    = 500 * time.Millisecond // the longest
	patience    = time.Second            // with an active deployment, before registering
	passingFor  = 5 * time.Second        // how long Nomad may answer "not just now"
	notNowAfter = 5 * time.Second        // when to try again to sleep
	downTries   = 4                      // lost races before sleeping is put off
)

// askUp asks for the group's wake count where its count is 0, until Nomad has taken it or
// it is clear that it won't.
func (w *workload) askUp(ctx context.Context, k known) (asked, error) {
	began := time.Now()
	registering := true
	for step := shortStep; ; step = min(2*step, longStep) {
		a, err := w.tryUp(ctx, k)
		if isDeploying(err) && registering && time.Since(began) >= patience {
			a, err = w.registerUp(ctx, k)
			registering = !isDenied(err)
			if !registering {
				continue
			}
		}
		again := isConflict(err) || isDeploying(err) ||
			isPassing(err) && time.Since(began) < passingFor
		if err == nil || !again {
			return a, err
		}
		if !sleep(ctx, step) {
			return a, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// tryUp asks once.
func (w *workload) tryUp(ctx context.Context, k known) (asked, error) {
	job, tg, kept, err := w.look(ctx)
	if err != nil {
		return asked{}, err
	}
	if countOf(tg) > 0 {
		return found(job, tg), nil
	}
	want := k.wakeCount(kept, tg)
	resp, err := w.watcher.client.scale(ctx, w.id, &nomad.ScalingRequest{
		Count:          new(int64(want)),
		Message:        "woken by doze",
		Meta:           map[string]any{metaKind: "wake"},
		JobModifyIndex: deref(job.JobModifyIndex),
	})
	return outcome(want, resp, err)
}

// look reads the job, this group in it and the group's scaling events, newest first: both
// at the same time.
func (w *workload) look(ctx context.Context) (job *nomad.Job, tg *nomad.TaskGroup,
	events []nomad.ScalingEvent, err error) {
	var status *nomad.JobScaleStatusResponse
	var statusErr error
	var reading sync.WaitGroup
	reading.Go(func() { status, statusErr = w.watcher.client.scaleStatus(ctx, w.id) })
	job, tg, err = w.read(ctx)
	reading.Wait()
	if err = cmp.Or(err, statusErr); err != nil {
		return nil, nil, nil, err
	}
	return job, tg, status.TaskGroups[w.id.Group].Events, nil
}

func outcome(count int, resp *nomad.JobRegisterResponse, err error) (asked, error) {
	if err != nil {
		return asked{}, err
	}
	return asked{count, resp.JobModifyIndex, true, resp.EvalID}, nil
}

// found is the outcome of asking for nothing, as the count is what it should be.
func found(job *nomad.Job, tg *nomad.TaskGroup) asked {
	return asked{count: countOf(tg), index: deref(job.JobModifyIndex)}
}

// registerUp registers the job anew with the group's wake count, which, unlike scaling, an
// active deployment does not forbid. Nothing else in the job changes; under the index it
// was read at, so that nobody's change is lost.
func (w *workload) registerUp(ctx context.Context, k known) (asked, error) {
	job, tg, kept, err := w.look(ctx)
	if err != nil {
		return asked{}, err
	}
	if countOf(tg) > 0 {
		return found(job, tg), nil
	}
	want := k.wakeCount(kept, tg)
	tg.Count = &want
	w.watcher.log.Info("registering the job to wake a group, as a deployment is active",
		"group", w.id.String(), "count", want)
	resp, err := w.watcher.client.register(ctx, job)
	return outcome(want, resp, err)
}

// askDown asks for count 0; why goes into the scaling event.
func (w *workload) askDown(ctx context.Context, why string) (asked, error) {
	for try, step := 1, shortStep; ; try, step = try+1, 2*step {
		a, err := w.tryDown(ctx, why)
		switch {
		case isDeploying(err):
			return a, &idle.NotNowError{Reason: "a deployment is active", After: notNowAfter}
		case isConflict(err) && try == downTries:
			return a, &idle.NotNowError{Reason: "the job keeps changing", After: notNowAfter}
		case !isConflict(err) && (!isPassing(err) || try == downTries):
			return a, err
		}
		if !sleep(ctx, step) {
			return a, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// tryDown asks once.
func (w *workload) tryDown(ctx context.Context, why string) (asked, error) {
	job, tg, err := w.read(ctx)
	switch {
	case errors.Is(err, errGone), errors.Is(err, errStopped), errors.Is(err, errNoGroup):
		return asked{}, nil
	case err != nil:
		return asked{}, err
	}
	count := countOf(tg)
	if count == 0 {
		return found(job, tg), nil
	}
	resp, err := w.watcher.client.scale(ctx, w.id, &nomad.ScalingRequest{
		Count:          new(int64(0)),
		Message:        why,
		Meta:           map[string]any{metaKind: "sleep", metaCount: count},
		JobModifyIndex: deref(job.JobModifyIndex),
	})
	return outcome(0, resp, err)
}
