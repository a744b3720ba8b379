package idle

import (
	"context"
	"log/slog"
)

// carryOut does what a step asked for and returns the answer to it, nil where there is
// none.
func (l *Loop) carryOut(g *Group, e Effect) *Event {
	switch e.Kind {
	case HoldRequests:
		g.leases.shut()
	case AdmitRequests:
		g.leases.open()
	case TryShut:
		if g.leases.shutIdle() {
			return &Event{Kind: GateShut}
		}
		return &Event{Kind: GateBusy}
	case ArmGate:
		g.gate.Arm(e.Generation)
		if len(e.Targets) > 0 {
			g.gate.Update(e.Generation, e.Targets)
		}
	case UpdateGate:
		g.gate.Update(e.Generation, e.Targets)
	case ShutGate:
		g.gate.Shut()
	case CloseGate:
		g.gate.Shut()
		return &Event{Kind: GateClosed}
	case OpenAnyway:
		if g.gate.OpenAnyway(e.Generation) {
			return &Event{Kind: GateOpened}
		}
		return &Event{Kind: NothingToOpen}
	case FailWaiters:
		g.gate.Fail(e.Generation, e.Err)
	case CallWake:
		l.begin(&l.wakes, &call{group: g, result: WakeReturned, gen: e.Generation})
	case CallSleep:
		l.begin(&l.sleeps, &call{
			group: g, result: SleepReturned, gen: e.Generation,
			depth: e.Depth, cause: e.Cause,
		})
	case CallExplain:
		l.begin(&l.wakes, &call{
			group: g, result: WakeReturned, gen: e.Generation, why: true,
		})
	case CancelCall:
		l.cancel(g.call, e.Err)
	case WithdrawCall:
		l.withdraw(g.call, ErrSuperseded)
	case Report:
		l.report(g, *e.Transition)
	}
	return nil
}

// begin makes a call in a goroutine of its own, or queues it. Run waits for all of them.
func (l *Loop) begin(in *lane, c *call) {
	c.ctx, c.cancel = context.WithCancelCause(l.ctx)
	c.group.call = c
	if in.enter(c) {
		l.launch(c)
	}
}

func (l *Loop) launch(c *call) {
	l.calls.Go(func() {
		err := c.make()
		c.group.post(Event{Kind: c.result, Generation: c.gen, Err: err})
	})
}

// leave frees a place in a lane for the next call.
func (l *Loop) leave(in *lane) {
	if next := in.leave(); next != nil {
		l.launch(next)
	}
}

// cancel ends a call's context. Its answer is still waited for.
func (l *Loop) cancel(c *call, why error) {
	c.cancel(why)
	l.withdraw(c, why)
}

// withdraw takes a call that is still queued out of its lane; its answer comes through the
// inbox like any other.
func (l *Loop) withdraw(c *call, why error) {
	if c == nil {
		return
	}
	in := &l.wakes
	if c.result == SleepReturned {
		in = &l.sleeps
	}
	if in.withdraw(c) {
		c.cancel(why)
		in.busy++ // its answer gives the place back
		c.group.post(Event{Kind: c.result, Generation: c.gen, Err: why})
	}
}

// report writes a transition down and tells it.
func (l *Loop) report(g *Group, t Transition) {
	g.mu.Lock()
	g.past.add(&t, l.epoch)
	g.mu.Unlock()
	t.Group = g.id
	level := slog.LevelInfo
	if t.Err != "" {
		level = slog.LevelWarn
	}
	l.cfg.Log.LogAttrs(l.ctx, level, "group is "+t.To.String(),
		slog.Any("group", g.id), slog.Uint64("generation", uint64(t.Generation)),
		slog.Any("from", t.From), slog.String("cause", t.Cause), slog.String("err", t.Err))
	if l.cfg.OnTransition != nil {
		l.cfg.OnTransition(t)
	}
}
