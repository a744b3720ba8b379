package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"doze/plugins/drivers"
	"doze/plugins/host"
)

// Restart ends the agent as a SIGTERM does, the plugin with it, and boots another
// one that recovers the tasks. It returns the first error of a recovery, as do
// the other restarts.
func (a *Agent) Restart() error {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a.must("announce the end", a.Shutdown(ctx))
	a.unfollow()
	a.Kill()
	a.do(a.boot()...)
	return a.RecoverAll()
}

// RestartAfterCrash ends the agent as a SIGKILL does: the plugin goes on, and the
// next agent finds it again.
func (a *Agent) RestartAfterCrash() error {
	a.t.Helper()
	at := a.Attachment()
	a.unfollow()
	a.must("leave the plugin", a.Abandon())
	p, err := host.Reattach(at, a.cfg.Command.Log)
	a.must("find the plugin again", err)
	a.Plugin = p
	a.do(a.follow()...)
	return a.RecoverAll()
}

// CrashPlugin ends the plugin by SIGKILL; the agent starts another one.
func (a *Agent) CrashPlugin() error {
	a.t.Helper()
	a.crash()
	a.do(a.dispense()...)
	return a.RecoverAll()
}

func (a *Agent) crash() {
	a.t.Helper()
	a.must("kill the plugin", a.Crash())
	a.crashes++
	a.unfollow()
}

// RecoverAll hands every remembered task to the plugin, from the agent's store.
func (a *Agent) RecoverAll() error {
	for id, h := range a.Handles() {
		stored, err := store(h)
		if err != nil {
			return err
		}
		if err := a.Recover(a.t.Context(), stored); err != nil {
			return fmt.Errorf("cannot recover task %q: %w", id, err)
		}
	}
	return nil
}

// store writes a handle and reads it again: nothing else outlives an agent.
func store(h drivers.Handle) (drivers.Handle, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return drivers.Handle{}, fmt.Errorf("cannot store a handle: %w", err)
	}
	var out drivers.Handle
	if err := json.Unmarshal(text, &out); err != nil {
		return drivers.Handle{}, fmt.Errorf("cannot read a stored handle: %w", err)
	}
	if out.Task.Raw != nil {
		return drivers.Handle{}, errors.New("a handle has kept the task's config block")
	}
	return out, nil
}

// Run starts a task and remembers it.
func (a *Agent) Run(task drivers.TaskConfig) (drivers.Handle, error) {
	h, _, err := a.Start(a.t.Context(), task)
	if err != nil {
		return h, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handles[task.ID] = h
	return h, nil
}

// Forget destroys a task, as an agent does after every exit, and forgets it.
func (a *Agent) Forget(id string) error {
	err := a.Destroy(a.t.Context(), id, true)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.handles, id)
	return err
}
