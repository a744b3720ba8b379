package devnomad

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"doze/plugins/drivers"
)

// pluginTask is a task that a driver's plugin runs.
type pluginTask struct {
	r    *PluginRunner
	id   string
	pid  int           // of the process that ends with this one; 0: none is known
	done chan struct{} // closed when exit and err are set
	exit Exit
	err  error
}

// destroyLimit is what a driver may take to forget an ended task.
const destroyLimit = 20 * time.Second

// watch has the task ended when this process is killed, where its driver tells which process
// to kill for that. The embedded cluster's tasks never outlive it.
func (t *pluginTask) watch(ctx context.Context) {
	err := t.r.call(ctx, func(p *pluginSession) error {
		status, err := p.Inspect(ctx, t.id)
		if err != nil || status.Attributes["pid"] == "" {
			return err
		}
		if t.pid, err = strconv.Atoi(status.Attributes["pid"]); err != nil {
			return err
		}
		return errors.Join(t.r.watchdog.begin(), t.r.watchdog.add(t.pid))
	})
	if err != nil {
		t.r.cfg.Log.Warn("task would outlive the cluster's process", "task", t.id, "error", err)
	}
}

// follow waits for the end of the task, and tidies up after it.
func (t *pluginTask) follow(logs *fifos) {
	defer close(t.done)
	ctx := context.Background() // the task's own life: Stop ends it
	t.err = t.r.call(ctx, func(p *pluginSession) error {
		result, err := p.Wait(ctx, t.id)
		t.exit = Exit{Code: result.Code, Signal: result.Signal, OOMKilled: result.OOMKilled,
			Err: result.Message}
		return err
	})
	ctx, cancel := context.WithTimeout(ctx, destroyLimit)
	defer cancel()
	// The writers of the log are gone only now.
	err := errors.Join(t.r.forget(ctx, t.id), logs.end())
	if t.pid != 0 {
		t.r.watchdog.remove(t.pid)
	}
	if err != nil {
		t.r.cfg.Log.Warn("cannot tidy up after a task", "task", t.id, "error", err)
	}
}

// Wait implements Task.
func (t *pluginTask) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-t.done:
		return t.exit, t.err
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

// signalLimit bounds a signal: SIGCONT waits until the task is awake.
const signalLimit = 2 * time.Minute

// Signal implements Task.
func (t *pluginTask) Signal(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), signalLimit)
	defer cancel()
	return t.r.call(ctx, func(p *pluginSession) error { return p.Signal(ctx, t.id, name) })
}

// Stop implements Task.
func (t *pluginTask) Stop(ctx context.Context, signal string, grace time.Duration) error {
	how := drivers.StopRequest{Signal: signal, Timeout: grace}
	err := t.r.call(ctx, func(p *pluginSession) error { return p.Stop(ctx, t.id, how) })
	if err != nil {
		return fmt.Errorf("cannot stop task %q: %w", t.id, err)
	}
	_, err = t.Wait(ctx)
	return err
}

// pluginTaskConfig is a task as an agent describes it.
func pluginTaskConfig(spec TaskSpec, logs *fifos, raw []byte) drivers.TaskConfig {
	env := map[string]string{}
	for _, kv := range environ(spec.Env) {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	task := drivers.TaskConfig{
		ID: spec.ID, Name: spec.Name, JobID: spec.JobID, JobName: spec.JobID, Group: spec.Group,
		Namespace: spec.Namespace, AllocID: spec.AllocID, Raw: raw, Env: env, User: spec.User,
		AllocDir: spec.AllocDir, StdoutPath: logs.paths[0], StderrPath: logs.paths[1],
		Resources: drivers.Resources{CPUShares: int64(spec.CPU), MemoryMB: int64(spec.MemoryMB)},
	}
	task.Resources.Linux.CPUShares = int64(spec.CPU)
	task.Resources.Linux.MemoryLimitBytes = int64(spec.MemoryMB) << 20
	for _, p := range spec.Ports {
		task.Resources.Ports = append(task.Resources.Ports, drivers.Port{
			Label: p.Label, Value: int32(p.Value), To: int32(p.To), HostIP: p.HostIP})
	}
	return task
}
