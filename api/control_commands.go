package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"doze/api/wire"
	"doze/healthgate"
	"doze/idle"
)

// cause is what a command writes into the group's history.
func (r *call) cause() string {
	if r.command.Reason == "" {
		return "command"
	}
	return "command: " + r.command.Reason
}

// wakeGroup answers POST …/wake.
func (c *control) wakeGroup(w http.ResponseWriter, r *call) error {
	if wait, given := r.args.durations["wait"]; given {
		return c.wakeAndWait(w, r, wait)
	}
	if err := r.group.Wake(r.Context(), r.cause()); err != nil {
		return c.commandError(r, err)
	}
	return writeJSON(w, http.StatusAccepted, wire.Outcome{Group: c.view(r.group)})
}

// wakeAndWait holds the group's own kind of lease while it waits, as a request does, so that
// the group cannot fall asleep under the answer.
func (c *control) wakeAndWait(w http.ResponseWriter, r *call, wait time.Duration) error {
	started := time.Now()
	deadline := started.Add(wait)
	ctx, cancel := context.WithDeadline(r.Context(), deadline)
	defer cancel()
	r.group.Acquire()
	err := c.wakeUntilReady(ctx, r)
	r.group.Release() // before the group is looked at: nobody else counts the waiting for a request
	waited := wire.Duration(time.Since(started))
	if err == nil {
		return writeJSON(w, http.StatusOK, wire.Outcome{Group: c.view(r.group),
			Deadline: wire.Time{Time: deadline}, Waited: waited})
	}
	err = c.notReady(r, err, wait)
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		p.Deadline, p.Waited = wire.Time{Time: deadline}, waited
	}
	return err
}

// wakeUntilReady returns nil when the group's state is ready, not only its gate open: the
// gate lets requests through a moment before the loop writes that down.
func (c *control) wakeUntilReady(ctx context.Context, r *call) error {
	changes := c.Journal.read("")
	defer changes.close()
	if err := r.group.Wake(ctx, r.cause()); err != nil {
		return err
	}
	if err := r.group.Await(ctx, r.cause()); err != nil {
		return err
	}
	for r.group.Status().State == idle.Waking {
		select {
		case <-changes.signal:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// notReady tells a deadline of the caller's apart from the wake's own failure: two limits
// are at work, and the answer names the one that was reached.
func (c *control) notReady(r *call, err error, wait time.Duration) error {
	var p *wire.Problem
	switch failed, isFailed := errors.AsType[*idle.FailedError](err); {
	case isFailed:
		p = problem(wakeFailed,
			fmt.Sprintf("before the %s of ?wait= had passed: %s", wait, failed.Reason),
			fmt.Sprintf("requests try again in %s; this command tries again at once",
				failed.RetryAfter.Round(time.Millisecond)))
	case errors.Is(err, context.DeadlineExceeded):
		p = problem(wakeTimeout,
			fmt.Sprintf("not ready after %s, which is what ?wait= allowed: %s", wait, lastSeen(err)),
			"the wake goes on: ask again, or for longer")
	default:
		return c.commandError(r, err)
	}
	group := c.view(r.group)
	p.Group, p.Wake = &group, group.LastWake
	return p
}

// lastSeen says how far a wake had come when the wait for it ended.
func lastSeen(err error) string {
	if wait, ok := errors.AsType[*healthgate.WaitError](err); ok && wait.Last != "" {
		return wait.Last
	}
	return "no target is known yet"
}

// sleepGroup answers POST …/sleep.
func (c *control) sleepGroup(w http.ResponseWriter, r *call) error {
	force := r.args.flags["force"]
	leased := len(r.group.Status().Leases) > 0
	err := r.group.Sleep(r.Context(), r.cause(), force)
	if errors.Is(err, idle.ErrLeased) {
		return c.inUse(r)
	}
	if err != nil {
		return c.commandError(r, err)
	}
	out := wire.Outcome{}
	if force && leased { // they have ended: a restart must not bring them back
		out.Warnings = c.saving.save(r.Context(), r.group)
	}
	out.Group = c.view(r.group)
	status := http.StatusAccepted
	if out.Group.State == wire.Asleep {
		status = http.StatusOK
	}
	return writeJSON(w, status, out)
}

func (c *control) inUse(r *call) *wire.Problem {
	group := c.view(r.group)
	p := problem(groupInUse, group.Why,
		"add ?force=true to cut the requests and end the leases", "or wait until it is idle")
	p.Group = &group
	return p
}

// commandError tells a group that is gone apart from a loop that has ended.
func (c *control) commandError(r *call, err error) error {
	if !errors.Is(err, idle.ErrGone) {
		return err
	}
	if c.Loop.Group(r.id) == nil {
		return notManaged(r.id)
	}
	return problem(stopping, "no more commands are taken", "try again in a moment")
}
