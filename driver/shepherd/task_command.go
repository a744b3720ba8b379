package shepherd

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"doze/idle"
)

// status is a snapshot.
func (t *task) status(missing []string) Status {
	g := t.group.Status()
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Status{
		TaskID: t.spec.TaskID, State: g.State, Depth: t.depth, Since: g.Since,
		Wakes: g.Wakes, Err: g.Err, InFlight: g.InFlight,
		Listen: t.port.addr(), Exit: t.exit, Missing: missing,
	}
	if s.State == idle.Asleep && t.depth == idle.Awake {
		s.State = idle.Waking // started, and about to be adopted
	}
	if t.spec.Activation == Socket {
		s.InFlight = t.port.open()
	}
	if t.app != nil {
		s.Pid, s.Port, s.Started = t.app.pid, t.app.port, t.app.started
	}
	return s
}

func (t *task) stats() Stats { return t.cgroups.Stats() }

// signal thaws the application first: a frozen process handles none.
func (t *task) signal(ctx context.Context, sig syscall.Signal) error {
	app, _, _ := t.look()
	if t.leaves(app) {
		return t.unheard(sig)
	}
	t.enter()
	defer t.leave()
	err := t.rouse(ctx, "signal")
	switch {
	case t.leaves(app):
		return t.unheard(sig)
	case err != nil:
		return err
	}
	return app.tell(sig)
}

// enter begins what keeps the task awake until leave: a freeze that is on its way already
// sees it, or is seen by rouse.
func (t *task) enter() {
	t.guests.Add(1)
	t.group.Acquire()
}

func (t *task) leave() {
	t.group.Release()
	t.guests.Add(-1)
}

// leaves reports whether an application is none any more, or is being parked.
func (t *task) leaves(app *application) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return app == nil || app != t.app || app.parking
}

// unheard is the end of a signal to a task without a process. A parked one has nothing to be
// told: whatever has changed it finds when it starts. That is no error, since Nomad kills a
// task that it can't tell of a new template (change_mode = "signal").
func (t *task) unheard(sig syscall.Signal) error {
	t.mu.Lock()
	exited := t.exit != nil
	t.mu.Unlock()
	if exited {
		return ErrExited
	}
	t.journal.add(time.Now(), Event{Kind: EventUnheard, Message: unix.SignalName(sig) +
		" reached nobody: the task is parked, and starts anew when it is used"})
	return nil
}

// goneOr says what idle.ErrGone means here.
func (t *task) goneOr(err error) error {
	if errors.Is(err, idle.ErrGone) {
		return ErrExited
	}
	return err
}

// onTheWayDown reports whether the process is about to stand still.
func onTheWayDown(s idle.State) bool { return s == idle.Draining || s == idle.Sleeping }

// goesDown reports whether the process stands still, or is about to.
func (t *task) goesDown() bool {
	_, depth, _ := t.look()
	return depth != idle.Awake || onTheWayDown(t.group.Status().State)
}

// rouse has the process run, ready or not: executing is how one finds out why it is not.
func (t *task) rouse(ctx context.Context, cause string) error {
	if t.goesDown() {
		if err := t.group.Wake(ctx, cause); err != nil {
			return t.goneOr(err)
		}
	}
	return t.awaitProcess(ctx)
}

// awaitProcess waits until the application's process runs.
func (t *task) awaitProcess(ctx context.Context) error {
	for {
		app, depth, changed := t.look()
		s := t.group.Status()
		switch {
		case app != nil && depth == idle.Awake && !onTheWayDown(s.State):
			return nil
		case s.State == idle.Failed:
			return errors.New(s.Err)
		}
		select {
		case <-changed:
		case <-t.ended:
			return ErrExited
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sleepNow puts the task to sleep by command. Relayed connections do not keep it awake:
// they stay open, and are looked after (see relayPort.asleep). Those that wait for it to
// wake do, which would be lost, and so do commands that run beside it.
func (t *task) sleepNow(ctx context.Context, depth idle.Depth) error {
	if t.hasEnded() {
		return ErrExited
	}
	if depth == idle.Freeze && t.cgroups.Freezer() == "" {
		return fmt.Errorf("cannot freeze: %w", t.cgroups.Freeze(ctx))
	}
	if depth == idle.Park {
		t.parkInUse.Store(true)
		defer t.parkInUse.Store(false)
	}
	err := t.group.SleepAt(ctx, depth, "command", false)
	passed := t.spec.Activation != Socket && t.guests.Load() == 0 &&
		t.group.Status().State == idle.Ready
	if errors.Is(err, idle.ErrLeased) && passed {
		err = t.group.SleepAt(ctx, depth, "command", true)
	}
	switch {
	case errors.Is(err, idle.ErrLeased):
		return ErrInUse
	case err != nil:
		return t.goneOr(err)
	}
	return t.awaitSleep(ctx, depth)
}

// awaitSleep waits for how a sleep turns out.
func (t *task) awaitSleep(ctx context.Context, depth idle.Depth) error {
	for {
		_, _, changed := t.look()
		s := t.group.Status()
		switch {
		case s.State == idle.Asleep && s.Depth >= depth:
			return nil
		case onTheWayDown(s.State):
		case s.Err != "" && !(t.putOff.Load() && t.readyOnce.Load()):
			return errors.New(s.Err)
		default: // somebody came meanwhile
			return ErrInUse
		}
		select {
		case <-changed:
		case <-t.ended:
			return ErrExited
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// wakeNow wakes the task by command and waits until it is ready.
func (t *task) wakeNow(ctx context.Context) error {
	if t.hasEnded() {
		return ErrExited
	}
	defer t.group.Release()
	if t.group.Acquire() {
		return nil
	}
	if err := t.group.Wake(ctx, "command"); err != nil {
		return t.goneOr(err)
	}
	err := t.group.Await(ctx, "command")
	if failed, ok := errors.AsType[*idle.FailedError](err); ok {
		return errors.New(failed.Reason)
	}
	return t.goneOr(err)
}
