package devnomad

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"doze/plugins/drivers"
	"doze/plugins/host"
)

// PluginConfig says which task driver a PluginRunner runs.
type PluginConfig struct {
	Path   string         // of the plugin's program; required
	Config map[string]any // the config block of the agent's plugin block; nil: empty
	Log    *slog.Logger   // gets what the plugin logs; nil: discard
}

// PluginRunner is the Runner of a task driver: it starts the driver's program as a Nomad
// agent does, and talks to it by Nomad's plugin protocol over its socket. When the plugin
// dies it starts another, which takes up the tasks.
type PluginRunner struct {
	cfg PluginConfig
	// turn holds the one token of whoever reads or writes what is below.
	turn chan struct{}
	now  *pluginSession // nil: none has been started, or it was closed
	kept map[string]keptTask

	streams  sync.WaitGroup // each ends with its plugin's process
	watchdog watchdog       // of the processes that outlive the plugin
}

// keptTask is what is kept of a task until it is destroyed.
type keptTask struct {
	handle drivers.Handle // no State: it is being started
	event  func(message string, details map[string]string)
}

// NewPluginRunner returns a runner whose plugin answers. Close ends the plugin.
func NewPluginRunner(ctx context.Context, cfg PluginConfig) (*PluginRunner, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := &PluginRunner{cfg: cfg, turn: make(chan struct{}, 1), kept: map[string]keptTask{}}
	r.turn <- struct{}{}
	if _, err := r.current(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Close ends the plugin. Its tasks go on: close the Cluster first.
func (r *PluginRunner) Close() error {
	<-r.turn // whoever has it ends with its context
	session := r.now
	r.now = nil
	r.release()
	if session != nil {
		session.Kill()
	}
	r.streams.Wait()
	return r.watchdog.end()
}

func (r *PluginRunner) acquire(ctx context.Context) error {
	select {
	case <-r.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *PluginRunner) release() { r.turn <- struct{}{} }

// current is the plugin: started if it is not there, and told of the tasks there are.
func (r *PluginRunner) current(ctx context.Context) (*pluginSession, error) {
	if err := r.acquire(ctx); err != nil {
		return nil, err
	}
	defer r.release()
	if r.now != nil && !hasEnded(r.now) {
		return r.now, nil
	}
	session, err := beginPlugin(ctx, r.cfg)
	if err != nil {
		return nil, err
	}
	for id, k := range r.kept {
		if k.handle.State == nil {
			continue
		}
		if err := session.Recover(ctx, k.handle); err != nil {
			// Whoever waits for it is told that it is not known.
			r.cfg.Log.Warn("plugin does not find a task again", "task", id, "error", err)
		}
	}
	r.now = session
	r.streams.Go(func() { r.listen(session) })
	return session, nil
}

func hasEnded(p *pluginSession) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// listen passes a plugin's events on to its tasks', until the plugin ends.
func (r *PluginRunner) listen(p *pluginSession) {
	ctx := context.Background() // the stream ends with the plugin's process
	err := p.Events(ctx, func(e drivers.Event) error {
		if err := r.acquire(ctx); err != nil {
			return err
		}
		k := r.kept[e.TaskID]
		r.release()
		if k.event != nil {
			k.event(e.Message, e.Details)
		}
		return nil
	})
	if !errors.Is(err, host.ErrExited) {
		r.cfg.Log.Warn("plugin tells of no more events", "error", err)
	}
}

// pluginTries is how often a call is made over which the plugin dies every time.
const pluginTries = 3

// call makes a call, again if the plugin dies over it.
func (r *PluginRunner) call(ctx context.Context, f func(*pluginSession) error) error {
	for try := 1; ; try++ {
		session, err := r.current(ctx)
		if err != nil {
			return err
		}
		err = f(session)
		if !errors.Is(err, host.ErrExited) || ctx.Err() != nil || try == pluginTries {
			return err
		}
		r.cfg.Log.Warn("plugin has died; starting another", "path", r.cfg.Path)
	}
}

// Start implements Runner.
func (r *PluginRunner) Start(ctx context.Context, spec TaskSpec) (Task, error) {
	logs, err := r.logsOf(ctx, spec)
	if err != nil {
		return nil, err
	}
	task := &pluginTask{r: r, id: spec.ID, done: make(chan struct{})}
	if err := r.keep(ctx, spec.ID, keptTask{event: spec.Event}); err != nil {
		return nil, errors.Join(err, logs.end())
	}
	if err := r.start(ctx, spec, logs); err != nil {
		return nil, errors.Join(err, r.drop(ctx, spec.ID), logs.end())
	}
	task.watch(ctx)
	go task.follow(logs) // ends with the task; Close of the Cluster ends every task
	return task, nil
}

// logsOf is where a task's logs go. Nobody here reads them where the job wants no logs, nor
// where the driver collects them itself; that one is told the pipes' names all the same.
func (r *PluginRunner) logsOf(ctx context.Context, spec TaskSpec) (*fifos, error) {
	session, err := r.current(ctx)
	if err != nil {
		return nil, err
	}
	logs := fifosOf(spec)
	if spec.NoLogs || session.capabilities.NoLogCollection {
		return logs, nil
	}
	return logs, logs.collect(spec)
}

func (r *PluginRunner) start(ctx context.Context, spec TaskSpec, logs *fifos) error {
	return r.call(ctx, func(p *pluginSession) error {
		raw, err := host.EncodeConfig(p.schema, spec.Config, nil)
		if err != nil {
			return err
		}
		handle, _, err := p.Start(ctx, pluginTaskConfig(spec, logs, raw))
		if err != nil {
			return err
		}
		handle.Task.Raw = nil // an agent does not keep it either
		return r.keep(ctx, spec.ID, keptTask{handle: handle, event: spec.Event})
	})
}

func (r *PluginRunner) keep(ctx context.Context, id string, k keptTask) error {
	if err := r.acquire(ctx); err != nil {
		return err
	}
	defer r.release()
	r.kept[id] = k
	return nil
}

func (r *PluginRunner) drop(ctx context.Context, id string) error {
	if err := r.acquire(ctx); err != nil {
		return err
	}
	defer r.release()
	delete(r.kept, id)
	return nil
}

// forget drops the task, here and in the plugin.
func (r *PluginRunner) forget(ctx context.Context, id string) error {
	err := r.call(ctx, func(p *pluginSession) error { return p.Destroy(ctx, id, true) })
	return errors.Join(err, r.drop(ctx, id))
}
