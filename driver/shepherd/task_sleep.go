package shepherd

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"doze/healthgate"
	"doze/idle"
)

// lookAgainAfter is when to look again at what is not known to pass by itself.
const lookAgainAfter = time.Second

// Sleep implements idle.Workload: it freezes or parks the application.
func (t *task) Sleep(ctx context.Context, _ healthgate.Generation, depth idle.Depth,
	_ string) error {
	err := t.down(ctx, depth)
	_, notNow := errors.AsType[*idle.NotNowError](err)
	t.putOff.Store(notNow)
	return err
}

func (t *task) down(ctx context.Context, depth idle.Depth) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
	app, now, _ := t.look()
	switch {
	case t.hasEnded():
		return ErrExited
	case now >= depth:
		return t.port.asleep()
	case depth != idle.Freeze && depth != idle.Park:
		return fmt.Errorf("cannot sleep as deep as %s", depth)
	}
	t.port.settle(ctx, depth)
	var err error
	if depth == idle.Freeze {
		err = t.freeze(ctx, app)
	} else {
		err = t.park(ctx, app, now)
	}
	if _, depth, _ := t.look(); err != nil && depth == idle.Awake {
		err = errors.Join(err, t.port.awake())
	}
	return err
}

// freeze stops the application where it stands. What came in between the decision and the
// freeze is looked for once all stand still: nobody is left waiting for a frozen process.
func (t *task) freeze(ctx context.Context, app *application) error {
	if !t.readyOnce.Load() {
		return &idle.NotNowError{Reason: errNotReady.Error(), After: t.spec.firstStep()}
	}
	t.spawner.settle(ctx)
	if err := t.cgroups.Freeze(ctx); err != nil {
		return err
	}
	if reason := t.cameIn(app); reason != "" {
		err := &idle.NotNowError{Reason: reason, After: t.spec.firstStep()}
		return errors.Join(err, t.thaw())
	}
	if err := t.port.asleep(); err != nil {
		return errors.Join(err, t.thaw())
	}
	t.change(func() { t.depth = idle.Freeze })
	return nil
}

// cameIn says who waits for the application and has not been counted, "" for nobody.
func (t *task) cameIn(app *application) string {
	switch {
	case t.port.busy():
		return "a connection came in"
	case t.guests.Load() > 0:
		return "a command or a signal came in"
	case app != nil && app.untaken():
		return "it has not taken a signal yet"
	}
	return ""
}

// park ends the application's process and keeps all else. From the last look at who uses it
// until it has ended nobody is let in, so that nobody ends with it.
func (t *task) park(ctx context.Context, app *application, now idle.Depth) error {
	if now == idle.Freeze && t.port.open() > 0 && !t.parkInUse.Load() {
		return &idle.NotNowError{Reason: ErrInUse.Error(), After: t.spec.ParkAfter}
	}
	if app == nil {
		t.change(func() { t.depth = idle.Park })
		return t.port.asleep()
	}
	if err := t.port.keepOut(); err != nil {
		return err
	}
	err := errors.Join(t.endParked(ctx, app), t.port.letIn())
	if err == nil {
		err = t.port.asleep()
	}
	if err != nil { // nobody could reach it, or it is not over yet
		t.keep(app)
		return err
	}
	t.change(func() { t.app, t.depth = nil, idle.Park })
	return nil
}

func (t *task) endParked(ctx context.Context, app *application) error {
	if reason := t.cameIn(nil); reason != "" {
		return &idle.NotNowError{Reason: reason, After: lookAgainAfter}
	}
	t.mu.Lock()
	app.parking = true
	t.mu.Unlock()
	return t.end(ctx, app, ending{t.spec.ParkSignal, t.spec.ParkTimeout})
}

// keep takes back that the application is parked, which has failed: its end, be it past or to
// come, is the task's.
func (t *task) keep(app *application) {
	t.mu.Lock()
	was := app.parking
	app.parking = false
	t.mu.Unlock()
	if was { // whoever has watched it may have left
		t.watchers.Go(func() { t.watch(app) })
	}
}

// ending is how an application is ended.
type ending struct {
	signal  string
	timeout time.Duration // negative: killed at once
}

// end thaws the process, tells it to end, and kills it with all that it started when it has
// not done so in time. Only when ctx is over before even that has helped is it an error.
func (t *task) end(ctx context.Context, app *application, how ending) error {
	sig, err := parseSignal(how.signal, syscall.SIGTERM)
	if err != nil {
		return err
	}
	if err := t.cgroups.Thaw(); err != nil {
		t.log.Warn("cannot thaw before the end", "err", err)
	}
	if how.timeout >= 0 {
		t.tell(ctx, app, sig, how.timeout)
	}
	return t.spawner.killed()
}

// killedWithin is how long the kernel may take to end what was killed.
const killedWithin = 10 * time.Second

// tell sends the signal and waits for the end, or for the time to be up.
func (t *task) tell(ctx context.Context, app *application, sig syscall.Signal, wait time.Duration) {
	if wait == 0 {
		wait = defaultStopTimeout
	}
	if err := app.signal(sig); err != nil {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-app.ended:
	case <-timer.C:
		t.journal.add(time.Now(), Event{Kind: EventKilled, Message: fmt.Sprintf(
			"%s did not end it within %s: it is killed", unix.SignalName(sig), wait)})
	case <-ctx.Done():
	}
}

// stop ends the task for good.
func (t *task) stop(ctx context.Context, how ending) error {
	t.stopping.Store(true)
	t.loop.Remove(t.group.ID()) // from here on nobody else wakes it or puts it to sleep
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
	app, _, _ := t.look()
	switch {
	case t.hasEnded():
		return nil
	case app == nil:
		t.finish(Exit{At: time.Now()})
		return nil
	}
	if err := t.end(ctx, app, how); err != nil {
		return err
	}
	<-t.ended
	return nil
}

// firstStep is after how long of idleness the task first sleeps.
func (s *Spec) firstStep() time.Duration {
	if s.FreezeAfter > 0 {
		return s.FreezeAfter
	}
	return max(s.ParkAfter, lookAgainAfter)
}
