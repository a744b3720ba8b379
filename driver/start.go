package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"doze/driver/shepherd"
	"doze/plugins/drivers"
)

// Start implements drivers.Driver.
func (d *Driver) Start(ctx context.Context, task drivers.TaskConfig) (drivers.Started, error) {
	cfg := d.config()
	if !cfg.Enabled {
		return drivers.Started{}, errors.New("cannot start a task: " +
			`enabled = false in the agent's plugin "doze" block`)
	}
	spec, err := d.spec(task, cfg)
	if err != nil {
		return drivers.Started{}, err
	}
	if !d.tasks.reserve(task.ID) {
		return drivers.Started{}, fmt.Errorf("cannot start task %q: it has been started already",
			task.ID)
	}
	defer d.tasks.unreserve(task.ID)
	state := handleState{TaskID: task.ID, AllocID: task.AllocID, TaskName: task.Name,
		Dir: d.dirOf(task.ID), StartedAt: time.Now().UTC(),
		Unified: spec.Cgroup.Unified, Lent: spec.Cgroup.Lent, Legacy: spec.Cgroup.Legacy}
	data, err := state.encode()
	if err != nil {
		return drivers.Started{}, err
	}
	dog, err := d.launch(ctx, state, spec)
	if err != nil {
		return drivers.Started{}, err
	}
	d.adopt(state, dog)
	return drivers.Started{State: data, Version: stateVersion}, nil
}

// launch starts the task's shepherd. Nomad starts a task a second time under the same id
// when this plugin has died before it could answer: then the task may run already, or half
// of it be there.
func (d *Driver) launch(
	ctx context.Context, state handleState, spec shepherd.Spec,
) (Shepherd, error) {
	dog, err := d.flock.Connect(ctx, state.Dir)
	switch {
	case err == nil:
		return dog, nil
	case !errors.Is(err, shepherd.ErrGone):
		return nil, drivers.Recoverable(fmt.Errorf("cannot look for the task: %w", err))
	}
	if err := d.sweep(state); err != nil {
		return nil, drivers.Recoverable(fmt.Errorf("cannot tidy up before the start: %w", err))
	}
	dog, err = d.flock.Launch(ctx, state.Dir, spec)
	if err == nil {
		return dog, nil
	}
	err = d.config().withStateDir(err)
	if ctx.Err() != nil || mayPass(err) {
		return nil, drivers.Recoverable(err)
	}
	return nil, err
}

// sweep ends what a shepherd that is gone has left. One that was destroyed has removed its
// directory as its last deed: then nothing is left, and the cgroups, which are the same for
// every start of a task in its allocation, may be another's by now.
func (d *Driver) sweep(state handleState) error {
	if _, err := os.Lstat(state.Dir); err != nil {
		return nil
	}
	return d.flock.Sweep(state.Dir, state.groups())
}

// mayPass reports whether a start that has failed may succeed a little later. What a shepherd
// says is text.
func mayPass(err error) bool {
	for _, words := range []string{"the port is in use", syscall.EADDRINUSE.Error(),
		syscall.EAGAIN.Error(), syscall.ENOMEM.Error(), syscall.ENOSPC.Error()} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

// spec is what the shepherd is told of the task.
func (d *Driver) spec(task drivers.TaskConfig, cfg AgentConfig) (shepherd.Spec, error) {
	var raw rawTask
	if err := task.Decode(&raw); err != nil {
		return shepherd.Spec{}, fmt.Errorf("cannot read the task's config block: %w", err)
	}
	c, problems := raw.read()
	listen := listenAddr(c.Listen, task, &problems)
	logs := logFiles(task, c.Logs, cfg.Logs, &problems)
	resolver := resolverOf(task, machineResolver, &problems)
	checkHanded(task, &problems)
	if err := problems.err(); err != nil {
		return shepherd.Spec{}, err
	}
	as, err := accountOf(task.User, cfg)
	if err != nil {
		return shepherd.Spec{}, err
	}
	if c.Listen != "" && c.Activation == activationRelay {
		task.Env = behindRelay(task.Env, c.Listen)
	}
	s := c.spec()
	s.TaskID, s.Listen = task.ID, listen
	s.Env, s.Dir, s.User = withPort(environ(task, as.User)), task.TaskDir(), as.ids()
	if s.Logs = logs; logs == (shepherd.LogFiles{}) {
		s.Stdout, s.Stderr = task.StdoutPath, task.StderrPath
	}
	s.Cgroup, s.NetNS, s.Resolver = here().cgroupsOf(task), namespaceOf(task), resolver
	s.Cgroup.Limits.Pids = int64(c.PidsLimit)
	return s, nil
}

// spec is the part that the config block alone decides.
func (c TaskConfig) spec() shepherd.Spec {
	s := shepherd.Spec{
		Command: c.Command, Args: withPort(c.Args), PortEnv: c.PortEnv,
		FreezeAfter: c.FreezeAfter, ParkAfter: c.ParkAfter, OnDemand: c.OnDemand,
		WakeTimeout: c.WakeTimeout, Probe: c.Probe, Shield: c.Shield,
		ParkSignal: c.ParkSignal, ParkTimeout: c.ParkTimeout,
	}
	if c.Activation == activationSocket {
		s.Activation = shepherd.Socket
	}
	return s
}
