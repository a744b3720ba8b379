package shepherd

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"doze/driver/shepherd/cgroup"
	"doze/healthgate"
	"doze/idle"
)

// newTask makes the task with everything that it needs to be started. An error is the
// task's own; a task returned with it has to be removed.
func newTask(ctx context.Context, spec Spec, log *slog.Logger) (*task, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	spec = spec.withDefaults()
	if _, err := spec.find(spec.Command); err != nil {
		return nil, err
	}
	cred, err := spec.credential()
	if err != nil {
		return nil, err
	}
	if err := spec.mountResolver(); err != nil {
		return nil, err
	}
	t := &task{
		spec:    spec,
		cgroups: cgroup.Open(spec.Cgroup),
		port:    noPort{},
		journal: newJournal(),
		log:     log,
		lean:    newLean(log),
		ops:     make(chan struct{}, 1),
		changed: make(chan struct{}),
		ended:   make(chan struct{}),
		depth:   idle.Park,
	}
	t.unlock()
	t.hits.begin(t.cgroups)
	if t.spawner, err = newSpawner(t.cgroups, cred); err != nil {
		return nil, errors.Join(err, t.cgroups.Remove())
	}
	return t, errors.Join(t.openLogs(ctx), t.openPort())
}

// credential is nil where there is no choice of user.
func (s *Spec) credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	return account(s.User)
}

func (t *task) openLogs(ctx context.Context) error {
	if t.spec.Logs.on() {
		tell := func(e Event) { t.journal.add(time.Now(), e) }
		c, err := newLogCollector(t.spec.Logs, t.spawner.cred, tell, t.log)
		if err != nil {
			return err
		}
		t.files, t.logs = c, c.writers()
		return nil
	}
	for i, path := range []string{t.spec.Stdout, t.spec.Stderr} {
		var err error
		if t.logs[i], err = openLog(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

func (t *task) closeLogs() error {
	if t.files != nil {
		return t.files.close()
	}
	return errors.Join(t.logs[0].Close(), t.logs[1].Close())
}

func (t *task) openPort() error {
	if t.spec.Listen == "" {
		return nil
	}
	if t.spec.Activation == Socket {
		p, err := newSocketPort(&t.spec)
		if err != nil {
			return err
		}
		p.log, p.still = t.log, t.sleeps
		p.whileParked, p.whileAbandoned = t.whileParked, t.whileAbandoned
		t.port = p
		return nil
	}
	p, err := newRelayPort(&t.spec)
	if err != nil {
		return err
	}
	p.log, p.lives, p.lean = t.log, t, t.lean
	t.port = p
	return nil
}

// begin starts the application, unless it is born parked, and puts it under the loop's
// care, which begins with hold.
func (t *task) begin() error {
	t.loop = idle.NewLoop(idle.Config{MaxWakes: 1, OnTransition: t.onTransition, Log: t.log})
	observed := idle.Observation{Cause: "born parked", Depth: idle.Park}
	var app *application
	if !t.spec.OnDemand {
		var err error
		if app, err = t.start(); err != nil {
			return err
		}
		observed = idle.Observation{Count: 1, Cause: "started"}
	}
	group, err := t.loop.Add(idle.GroupConfig{
		ID:       idle.GroupID{Job: t.spec.TaskID},
		Policy:   t.spec.policy(t.cgroups.Freezer() != ""),
		Gate:     healthgate.GateConfig{Probe: t.prober(), Log: t.log},
		Workload: t,
		Observed: observed,
		Activity: func() (int64, time.Time, bool) { return t.port.activity() },
	})
	if err != nil {
		return err
	}
	t.adopt(group)
	if app == nil {
		return t.port.asleep()
	}
	group.SetTargets([]healthgate.Target{{ID: t.spec.TaskID, Addr: app.addr}})
	return nil
}

// adopt tells everybody who needs it which group the task is.
func (t *task) adopt(group *idle.Group) {
	t.mu.Lock()
	t.group = group
	ended := t.exit != nil
	t.mu.Unlock()
	if ended { // it ended before there was a group
		t.loop.Remove(group.ID())
	}
	switch p := t.port.(type) {
	case *relayPort:
		p.group = group
	case *socketPort:
		p.group = group
	}
}

// hold runs everything until ctx ends, and returns when all of it has.
func (t *task) hold(ctx context.Context, calls *server) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var parts sync.WaitGroup
	errs := make([]error, 6)
	for i, part := range []func(context.Context) error{
		t.loop.Run, t.port.serve, t.watchPressure, t.watchLimits, t.lean.run, calls.serve,
	} {
		parts.Go(func() {
			if errs[i] = part(ctx); errs[i] != nil {
				cancel() // none of them is of use without the others
			}
		})
	}
	parts.Wait()
	killed := t.spawner.killed()
	if !errors.Is(killed, errSurvives) { // else nobody knows for how long
		t.watchers.Wait()
	}
	return errors.Join(append(errs, killed)...)
}

// sleeps reports whether the process stands still or is parked.
func (t *task) sleeps() bool {
	_, depth, _ := t.look()
	return depth != idle.Awake
}

// answers implements lives. Who asks is counted before, so that what runs in these states goes
// on running until the answer: also where requests wait for it to pass a probe, since a sleep
// was put off or it is about to fall asleep.
func (t *task) answers() (addr string, well bool) {
	switch t.group.Status().State {
	case idle.Ready, idle.Draining:
		app, _, _ := t.look()
		if app != nil {
			return app.addr, false
		}
	case idle.Asleep, idle.Sleeping:
		return "", true
	case idle.Waking:
		return "", t.readyOnce.Load() || t.spec.OnDemand
	}
	return "", false
}

// parked implements lives. The port is told to be asleep before the task says that it is parked.
func (t *task) parked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.app == nil || t.app.parking
}
