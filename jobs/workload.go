package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/healthgate"
	"doze/idle"
)

// workload is one group as package idle wakes it and puts it to sleep.
type workload struct {
	watcher *Watcher
	id      idle.GroupID
}

// lastWord is how long before the wake timeout Wake says what was still missing: after it
// nobody listens.
const lastWord = 50 * time.Millisecond

var (
	errOverdue = errors.New("the wake timeout is over")
	errStopped = errors.New("the job is stopped; only `nomad job run` or `nomad job start` " +
		"starts it again")
	errNoGroup = errors.New("the job no longer has this group")
)

// Wake asks for the group's count where it is 0, or where all that it had brought has
// failed, then waits for a placement, whose addresses the sink gets as soon as it is seen,
// and watches the tasks start. It returns nil when Nomad says that they run, and an error
// in the operator's words as soon as it is clear that they won't, or, at the policy's wake
// timeout, of what was still missing; the count stays as asked for, so that a later
// placement still serves. The caller may end ctx as soon as a target has answered.
func (w *workload) Wake(ctx context.Context, _ healthgate.Generation) error {
	k, err := w.begin(ctx)
	if err != nil {
		return err
	}
	defer w.end()
	within := k.policy.WakeTimeout - min(lastWord, k.policy.WakeTimeout/2)
	ctx, cancel := context.WithTimeoutCause(ctx, within, errOverdue)
	defer cancel()
	for pause := (backoff{}); ; {
		spent, err := w.up(ctx)
		switch {
		case spent:
			return w.startAfresh(ctx, err)
		case !errors.Is(err, errNothing):
			return err
		case !pause.wait(ctx, false):
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// up asks for the wake count where the count is 0, and waits until the tasks run. spent:
// all that there is was there before, and has failed. errNothing: somebody else has taken
// the count to 0 again.
func (w *workload) up(ctx context.Context) (spent bool, err error) {
	k, err := w.begin(ctx)
	if err != nil {
		return false, err
	}
	a, err := w.askUp(ctx, k)
	w.release(a)
	if err != nil {
		return false, err
	}
	arrival := &arrival{workload: w, asked: a}
	err = arrival.await(ctx)
	return arrival.spent, err
}

// startAfresh takes the count to 0 and back: all that was asked for before this wake has
// failed, and Nomad would start it again late (reschedule) or never. Where that cannot be
// done just now, it is the old failure that counts.
func (w *workload) startAfresh(ctx context.Context, failure error) error {
	if _, err := w.begin(ctx); err != nil {
		return failure
	}
	down, err := w.askDown(ctx, "doze starts afresh: all allocations have failed")
	w.release(down)
	if err != nil {
		return failure
	}
	if _, err := (&arrival{workload: w, asked: down}).settled(ctx); err != nil {
		return failure
	}
	_, err = w.up(ctx)
	return err
}

// Sleep asks for count 0 and returns when Nomad has taken it. It keeps the count that was
// there in the scaling event's meta, and the cause in its message. A group that is at 0, gone or stopped is left as it
// is. While a deployment is active it is put off (*idle.NotNowError).
func (w *workload) Sleep(ctx context.Context, _ healthgate.Generation, depth idle.Depth,
	cause string) error {
	if depth != idle.Zero {
		return fmt.Errorf("cannot put %s to sleep: a job group sleeps at count 0 only", w.id)
	}
	if _, err := w.begin(ctx); errors.Is(err, errUnmanaged) {
		return nil
	} else if err != nil {
		return err
	}
	defer w.end()
	a, err := w.askDown(ctx, "put to sleep by doze: "+cause)
	w.release(a)
	return err
}

// whyWithin is how long Explain waits for something to say; it is asked late.
const whyWithin = 1500 * time.Millisecond

// Explain implements idle.Explainer: it looks at what came of the count that is there, as
// Wake does, and says what is wrong or still missing. nil: the tasks run. It asks Nomad for
// no count, even where all that there is has failed: nobody has asked for the group.
func (w *workload) Explain(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, whyWithin, errOverdue)
	defer cancel()
	return (&arrival{workload: w}).await(ctx)
}

// asked is the outcome of asking for a count. The zero value: nothing is known.
type asked struct {
	count      int
	index      uint64 // job index at which the group had that count
	wrote      bool   // it is our own write
	evaluation string // what places or stops the allocations; "": none is known
}

// known is what the catalog knows of a group when it is woken.
type known struct {
	policy   Policy
	lastUp   int
	lastUpAt uint64
}

// begin keeps what is seen of the group from being told until release.
func (w *workload) begin(ctx context.Context) (known, error) {
	var k known
	err := w.watcher.doGroup(ctx, w.id, func(g *group, _ Sink) {
		g.asking, g.waking = true, true
		k = known{*g.policy, g.lastUp, g.lastUpAt}
	})
	return k, err
}

// release tells the catalog the outcome; what was seen meanwhile and is newer is told. It
// does not depend on the caller's context, which may have ended.
func (w *workload) release(a asked) {
	w.always(func(g *group, sink Sink) { g.settle(a, sink) })
}

func (w *workload) end() {
	w.always(func(g *group, _ Sink) { g.asking, g.waking = false, false })
}

// always changes the group, if it is still there and the watcher runs.
func (w *workload) always(act func(*group, Sink)) {
	// An error means that the group or the watcher is gone: nothing to keep right.
	_ = w.watcher.doGroup(context.Background(), w.id, act)
}

// read returns the job and this group in it. errStopped and errNoGroup say why it cannot
// be scaled; errGone in the chain: there is no such job.
func (w *workload) read(ctx context.Context) (*nomad.Job, *nomad.TaskGroup, error) {
	job, err := w.watcher.client.job(ctx, w.id)
	if err != nil {
		return nil, nil, err
	}
	if deref(job.Stop) {
		return nil, nil, errStopped
	}
	for _, tg := range job.TaskGroups {
		if deref(tg.Name) == w.id.Group {
			return job, tg, nil
		}
	}
	return nil, nil, errNoGroup
}
