package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// arrival is the second half of a wake: from the count that Nomad has taken to tasks that
// run. It asks Nomad itself rather than rely on the event stream, which usually tells the
// sink of the placement first.
type arrival struct {
	*workload
	asked
	declared bool   // live allocations were told to the sink
	spent    bool   // all that there is was placed before this wake, and has failed
	missing  string // what has not happened yet, in words
}

// errNothing: no allocation is alive although none has failed and there was a place for it.
var errNothing = errors.New("no allocation has been placed")

// await returns nil when the tasks run, or why they won't.
func (a *arrival) await(ctx context.Context) error {
	a.missing = "Nomad has not evaluated the job yet"
	unplaced, err := a.settled(ctx)
	var stubs []*nomad.AllocationListStub
	var index uint64
	var retry backoff
	for err == nil || retry.wait(ctx, false) {
		stubs, index, err = a.survey(ctx, index)
		if err != nil {
			continue
		}
		retry = backoff{}
		alive := living(stubs)
		if failure := a.failure(ctx, stubs, alive, unplaced); failure != nil {
			return failure
		}
		switch {
		case len(alive) == 0:
			return errNothing
		case areRunning(alive):
			return nil
		}
		a.missing, unplaced = progress(alive), nil
	}
	return fmt.Errorf("%w: %s", context.Cause(ctx), a.missing)
}

// othersWithin is how long a wake that has asked for nothing waits for an evaluation that
// somebody else has caused, and half the time that is left at most; then what is placed is
// taken as it is.
const othersWithin = 2 * time.Second

// settled is evaluated, bounded where the evaluation is not the wake's own.
func (a *arrival) settled(ctx context.Context) (unplaced, err error) {
	if a.wrote {
		return a.evaluated(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, min(othersWithin, timeLeft(ctx)/2))
	defer cancel()
	unplaced, err = a.evaluated(bounded)
	if ctx.Err() == nil && bounded.Err() != nil {
		return nil, nil
	}
	return unplaced, err
}

// evaluated waits until Nomad's scheduler has dealt with the count, and returns why not
// everything could be placed, nil when it could.
func (a *arrival) evaluated(ctx context.Context) (unplaced, err error) {
	id := a.evaluation
	var index uint64
	for retry := (backoff{}); ; {
		var ev *nomad.Evaluation
		if id == "" {
			ev, err = a.newest(ctx)
		} else {
			ev, index, err = a.watcher.client.evaluation(ctx, a.id.Namespace, id, index)
		}
		switch {
		case errors.Is(err, errGone), err == nil && ev == nil:
			return nil, nil // collected, or never needed: the allocations tell
		case err != nil:
			if !retry.wait(ctx, false) {
				return nil, err
			}
		case ev.Status == nomad.EvalStatusPending:
			id = ev.ID
			if !sleep(ctx, time.Millisecond) {
				return nil, context.Cause(ctx)
			}
		case ev.Status == nomad.EvalStatusCancelled && id != "":
			id, index = "", 0 // a newer one does its work
		default:
			return a.unplaced(ev), nil
		}
	}
}

// newest returns the evaluation that says most of the group's placement: one that is still
// pending, else the newest that was carried out (each deals with the whole job); nil: there
// is none.
func (a *arrival) newest(ctx context.Context) (*nomad.Evaluation, error) {
	evs, err := a.watcher.client.evaluations(ctx, a.id)
	if err != nil {
		return nil, err
	}
	var done *nomad.Evaluation
	for _, ev := range evs {
		switch ev.Status {
		case nomad.EvalStatusPending:
			return ev, nil
		case nomad.EvalStatusComplete, nomad.EvalStatusFailed:
			done = cmp.Or(done, ev)
		}
	}
	return done, nil
}

// unplaced says why an evaluation could not place the group, nil when it could.
func (a *arrival) unplaced(ev *nomad.Evaluation) error {
	if metric := ev.FailedTGAllocs[a.id.Group]; metric != nil {
		return errors.New("no place for it: " + placementWords(metric))
	}
	if ev.Status == nomad.EvalStatusFailed {
		return errors.New("Nomad's scheduler gave up: " + ev.StatusDescription)
	}
	return nil
}

// survey waits until the job's allocations have changed since index, tells the sink of
// those of the group that are alive, and returns all of the group's.
func (a *arrival) survey(ctx context.Context,
	index uint64) ([]*nomad.AllocationListStub, uint64, error) {
	stubs, next, err := a.watcher.client.allocations(ctx, a.id, index)
	if err != nil {
		return nil, 0, err
	}
	if next <= index {
		next = 0 // Nomad was restored, or does not block
		if !sleep(ctx, firstPause) {
			return nil, 0, context.Cause(ctx)
		}
	}
	own := stubs[:0]
	for _, stub := range stubs {
		if stub.TaskGroup == a.id.Group {
			own = append(own, stub)
		}
	}
	return own, next, a.tell(ctx, living(own), max(next, 1))
}

// tell gives the live allocations to the catalog, once each, with their ports.
func (a *arrival) tell(ctx context.Context, alive []*nomad.AllocationListStub,
	index uint64) error {
	var have []allocation
	err := a.watcher.doGroup(ctx, a.id, func(g *group, _ Sink) {
		have = slices.Clone(g.allocs)
	})
	if err != nil {
		return err
	}
	now := make([]allocation, 0, len(alive))
	for _, stub := range alive {
		alloc, err := a.withPorts(ctx, stub, have)
		if err != nil {
			return err
		}
		now = append(now, alloc)
	}
	return a.watcher.doGroup(ctx, a.id, func(g *group, sink Sink) {
		g.arrive(now, index, !a.wrote && !a.declared, sink)
		a.declared = a.declared || len(now) > 0
	})
}

// withPorts returns the allocation, from what is known where that has its ports.
func (a *arrival) withPorts(ctx context.Context, stub *nomad.AllocationListStub,
	have []allocation) (allocation, error) {
	for _, known := range have {
		if known.id == stub.ID && known.ports != nil {
			known.modified = stub.ModifyIndex
			return known, nil
		}
	}
	full, err := a.watcher.client.allocation(ctx, a.id.Namespace, stub.ID)
	if errors.Is(err, errGone) {
		return allocation{id: stub.ID}, nil
	} else if err != nil {
		return allocation{}, err
	}
	return allocation{stub.ID, stub.CreateIndex, stub.ModifyIndex,
		portsOf(full.AllocatedResources)}, nil
}

func living(stubs []*nomad.AllocationListStub) []*nomad.AllocationListStub {
	var alive []*nomad.AllocationListStub
	for _, stub := range stubs {
		if isLive(stub.DesiredStatus, stub.ClientStatus) {
			alive = append(alive, stub)
		}
	}
	return alive
}

// areRunning reports whether Nomad says that every live allocation runs.
func areRunning(alive []*nomad.AllocationListStub) bool {
	for _, stub := range alive {
		if stub.ClientStatus != nomad.AllocClientStatusRunning {
			return false
		}
	}
	return len(alive) > 0
}
