package devnomad

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/hashicorp/go-hclog"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
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
	turn    chan struct{}
	plugin  *host.Plugin // nil: none has been started, or it was closed
	schema  hclspec.Spec // of tasks
	handles map[string]drivers.Handle
}

// NewPluginRunner returns a runner whose plugin answers. Close ends the plugin.
func NewPluginRunner(ctx context.Context, cfg PluginConfig) (*PluginRunner, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := &PluginRunner{cfg: cfg, turn: make(chan struct{}, 1), handles: map[string]drivers.Handle{}}
	r.turn <- struct{}{}
	if _, err := r.current(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Close ends the plugin. Its tasks go on: close the Cluster first.
func (r *PluginRunner) Close() error {
	<-r.turn // whoever has it ends with its context
	defer r.release()
	if r.plugin != nil {
		r.plugin.Kill()
		r.plugin = nil
	}
	return nil
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
func (r *PluginRunner) current(ctx context.Context) (*host.Plugin, error) {
	if err := r.acquire(ctx); err != nil {
		return nil, err
	}
	defer r.release()
	if r.plugin != nil && !hasEnded(r.plugin) {
		return r.plugin, nil
	}
	plugin, err := host.Launch(host.Command{Path: r.cfg.Path, Log: pluginLog(r.cfg.Log)})
	if err != nil {
		return nil, err
	}
	if err := r.begin(ctx, plugin); err != nil {
		plugin.Kill()
		return nil, err
	}
	r.plugin = plugin
	return plugin, nil
}

func hasEnded(p *host.Plugin) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// begin does what an agent does before the first task.
func (r *PluginRunner) begin(ctx context.Context, p *host.Plugin) error {
	info, err := p.Info(ctx)
	if err != nil {
		return err
	}
	schema, err := p.ConfigSchema(ctx)
	if err != nil {
		return err
	}
	var raw []byte
	if schema != nil {
		if raw, err = host.EncodeConfig(schema, r.cfg.Config, nil); err != nil {
			return fmt.Errorf("cannot configure plugin %q: %w", info.Name, err)
		}
	}
	cfg := base.Config{Raw: raw}
	for _, agent := range []*base.Agent{nil, {MinPort: 14000, MaxPort: 14512}} {
		cfg.Agent = agent // nil: it only checks
		if err := p.SetConfig(ctx, cfg); err != nil {
			return fmt.Errorf("cannot configure plugin %q: %w", info.Name, err)
		}
	}
	if err := p.Init(ctx); err != nil {
		return err
	}
	if r.schema, err = p.TaskSchema(ctx); err != nil {
		return err
	}
	for id, h := range maps.Clone(r.handles) {
		if err := p.Recover(ctx, h); err != nil {
			delete(r.handles, id) // whoever waits for it is told that it is not known
			r.cfg.Log.Warn("plugin does not find a task again", "task", id, "error", err)
		}
	}
	return nil
}

// pluginTries is how often a call is made over which the plugin dies every time.
const pluginTries = 3

// call makes a call, again if the plugin dies over it.
func (r *PluginRunner) call(ctx context.Context, f func(*host.Plugin) error) error {
	for try := 1; ; try++ {
		plugin, err := r.current(ctx)
		if err != nil {
			return err
		}
		err = f(plugin)
		if !errors.Is(err, host.ErrExited) || ctx.Err() != nil || try == pluginTries {
			return err
		}
		r.cfg.Log.Warn("plugin has died; starting another", "path", r.cfg.Path)
	}
}

// Start implements Runner.
func (r *PluginRunner) Start(ctx context.Context, spec TaskSpec) (Task, error) {
	logs, err := openFifos(spec)
	if err != nil {
		return nil, err
	}
	task := &pluginTask{r: r, id: spec.ID, done: make(chan struct{})}
	err = r.call(ctx, func(p *host.Plugin) error {
		raw, err := host.EncodeConfig(r.schema, spec.Config, nil)
		if err != nil {
			return err
		}
		handle, _, err := p.Start(ctx, pluginTaskConfig(spec, logs, raw))
		if err == nil {
			err = r.remember(ctx, spec.ID, handle)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, logs.end())
	}
	go task.follow(logs) // ends with the task; Close of the Cluster ends every task
	return task, nil
}

func (r *PluginRunner) remember(ctx context.Context, id string, h drivers.Handle) error {
	if err := r.acquire(ctx); err != nil {
		return err
	}
	defer r.release()
	h.Task.Raw = nil // an agent does not keep it either
	r.handles[id] = h
	return nil
}

// forget drops the task, here and in the plugin.
func (r *PluginRunner) forget(ctx context.Context, id string) error {
	if err := r.acquire(ctx); err != nil {
		return err
	}
	delete(r.handles, id)
	r.release()
	return r.call(ctx, func(p *host.Plugin) error { return p.Destroy(ctx, id, true) })
}

// pluginLog passes a plugin's log on, at debug: what matters of it, its calls tell.
func pluginLog(log *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "plugin", Level: hclog.Debug,
		Output: slog.NewLogLogger(log.Handler(), slog.LevelDebug).Writer(), DisableTime: true})
}
