package devnomad

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/hashicorp/go-hclog"

	"doze/plugins/base"
	"doze/plugins/hclspec"
	"doze/plugins/host"
)

// pluginSession is one process of a plugin, configured. It does not change.
type pluginSession struct {
	*host.Plugin
	schema       hclspec.Spec // of tasks
	capabilities host.Capabilities
}

// beginPlugin starts a plugin and does with it what an agent does before the first task.
func beginPlugin(ctx context.Context, cfg PluginConfig) (*pluginSession, error) {
	plugin, err := host.Launch(host.Command{Path: cfg.Path, Log: pluginLog(cfg.Log)})
	if err != nil {
		return nil, err
	}
	s := &pluginSession{Plugin: plugin}
	if err := s.configure(ctx, cfg.Config); err != nil {
		plugin.Kill()
		return nil, fmt.Errorf("cannot configure plugin %q: %w", cfg.Path, err)
	}
	return s, nil
}

func (s *pluginSession) configure(ctx context.Context, config map[string]any) error {
	if _, err := s.Info(ctx); err != nil {
		return err
	}
	schema, err := s.ConfigSchema(ctx)
	if err != nil {
		return err
	}
	cfg := base.Config{}
	if schema != nil {
		if cfg.Raw, err = host.EncodeConfig(schema, config, nil); err != nil {
			return err
		}
	}
	for _, agent := range []*base.Agent{nil, {MinPort: 14000, MaxPort: 14512}} {
		cfg.Agent = agent // nil: it only checks
		if err := s.SetConfig(ctx, cfg); err != nil {
			return err
		}
	}
	if err := s.Init(ctx); err != nil {
		return err
	}
	if s.schema, err = s.TaskSchema(ctx); err != nil {
		return err
	}
	s.capabilities, err = s.Capabilities(ctx)
	return err
}

// pluginLog passes a plugin's log on, at debug: what matters of it, its calls tell.
func pluginLog(log *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "plugin", Level: hclog.Debug,
		Output: slog.NewLogLogger(log.Handler(), slog.LevelDebug).Writer(), DisableTime: true})
}
