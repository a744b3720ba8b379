package idle

import (
	"context"
	"slices"

	"doze/healthgate"
)

// call is one call of a Workload's method, under way or queued.
type call struct {
	group  *Group
	result EventKind // WakeReturned or SleepReturned
	gen    healthgate.Generation
	depth  Depth  // SleepReturned
	cause  string // SleepReturned
	why    bool   // Explain, not Wake
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// make calls the workload.
func (c *call) make() error {
	defer c.cancel(nil)
	switch {
	case c.why:
		return c.explain()
	case c.result == WakeReturned:
		return c.group.workload.Wake(c.ctx, c.gen)
	}
	return c.group.workload.Sleep(c.ctx, c.gen, c.depth, c.cause)
}

func (c *call) explain() error {
	if w, ok := c.group.workload.(Explainer); ok {
		return w.Explain(c.ctx)
	}
	return nil
}

// lane bounds how many calls of one kind are under way at once; the others queue. It
// belongs to the loop's goroutine.
type lane struct {
	limit, busy int
	queue       []*call
}

// enter reports whether c may be made now; otherwise it is queued.
func (l *lane) enter(c *call) bool {
	if l.busy >= l.limit {
		l.queue = append(l.queue, c)
		return false
	}
	l.busy++
	return true
}

// leave frees a place and returns the call that takes it, nil when none is queued.
func (l *lane) leave() *call {
	l.busy--
	if l.busy >= l.limit || len(l.queue) == 0 {
		return nil
	}
	l.busy++
	next := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	return next
}

// withdraw takes c out of the queue and reports whether it was there.
func (l *lane) withdraw(c *call) bool {
	i := slices.Index(l.queue, c)
	if i < 0 {
		return false
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	return true
}
