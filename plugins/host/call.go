package host

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/base"
	"doze/plugins/hclspec"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
)

// exitGrace is how long a broken connection waits to become an exit, as in an agent.
const exitGrace = 3 * time.Second

// failed is the error of a call as the driver had meant it.
func (p *Plugin) failed(ctx context.Context, err error) error {
	switch status.Code(err) {
	case codes.OK:
		return err // nil, or none of gRPC's
	case codes.Unavailable, codes.Canceled:
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		select {
		case <-p.done.Done():
			return ErrExited
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(exitGrace):
		}
	}
	return wire.ToError(err)
}

// Info asks the plugin who it is, and fails where an agent would refuse it.
func (p *Plugin) Info(ctx context.Context) (base.Info, error) {
	r, err := p.base.PluginInfo(ctx, &basepb.PluginInfoRequest{})
	if err != nil {
		return base.Info{}, p.failed(ctx, err)
	}
	info := base.Info{Name: r.GetName(), Version: r.GetPluginVersion()}
	if r.GetType() != basepb.PluginType_DRIVER {
		return info, fmt.Errorf("cannot use plugin %q: it is no task driver", info.Name)
	}
	for _, version := range r.GetPluginApiVersions() {
		if version == base.APIVersion || "v"+version == base.APIVersion {
			return info, info.Validate()
		}
	}
	return info, fmt.Errorf("cannot use plugin %q: it speaks %v, not %s",
		info.Name, r.GetPluginApiVersions(), base.APIVersion)
}

// ConfigSchema asks for the shape of the plugin's `config` block; nil: it has none.
func (p *Plugin) ConfigSchema(ctx context.Context) (hclspec.Spec, error) {
	r, err := p.base.ConfigSchema(ctx, &basepb.ConfigSchemaRequest{})
	if err != nil {
		return nil, p.failed(ctx, err)
	}
	return wire.ToSpec(r.GetSpec())
}

// SetConfig configures the plugin or, with a nil Agent, lets it check a configuration.
func (p *Plugin) SetConfig(ctx context.Context, c base.Config) error {
	if c.APIVersion == "" {
		c.APIVersion = base.APIVersion
	}
	_, err := p.base.SetConfig(ctx, wire.FromConfig(c))
	return p.failed(ctx, err)
}

// Init tells the plugin that it has been configured or found again. A plugin that
// does not know the call has no objection.
func (p *Plugin) Init(ctx context.Context) error {
	_, err := p.driver.Init(ctx, &driverpb.InitRequest{})
	return p.failed(ctx, unlessUnknown(err))
}

// Shutdown tells the plugin that it is about to be ended, as Init does.
func (p *Plugin) Shutdown(ctx context.Context) error {
	_, err := p.driver.Shutdown(ctx, &driverpb.ShutdownRequest{})
	return p.failed(ctx, unlessUnknown(err))
}

func unlessUnknown(err error) error {
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	return err
}

// TaskSchema asks for the shape of a task's `config` block.
func (p *Plugin) TaskSchema(ctx context.Context) (hclspec.Spec, error) {
	r, err := p.driver.TaskConfigSchema(ctx, &driverpb.TaskConfigSchemaRequest{})
	if err != nil {
		return nil, p.failed(ctx, err)
	}
	return wire.ToSpec(r.GetSpec())
}
