package server

import (
	"context"
	"sync/atomic"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/basepb"
)

// Base answers as a plugin.
type Base struct {
	basepb.UnimplementedBasePluginServer
	driver     drivers.Driver
	configured atomic.Bool
}

// NewBase returns the base of a driver.
func NewBase(d drivers.Driver) *Base { return &Base{driver: d} }

// PluginInfo implements the RPC.
func (b *Base) PluginInfo(
	context.Context, *basepb.PluginInfoRequest,
) (*basepb.PluginInfoResponse, error) {
	info := b.driver.Info()
	return &basepb.PluginInfoResponse{Type: basepb.PluginType_DRIVER,
		PluginApiVersions: []string{base.APIVersion},
		PluginVersion:     info.Version, Name: info.Name}, nil
}

// ConfigSchema implements the RPC.
func (b *Base) ConfigSchema(
	context.Context, *basepb.ConfigSchemaRequest,
) (*basepb.ConfigSchemaResponse, error) {
	c, ok := b.driver.(base.Configurable)
	if !ok {
		return &basepb.ConfigSchemaResponse{}, nil
	}
	return &basepb.ConfigSchemaResponse{Spec: wire.FromSpec(c.ConfigSchema())}, nil
}

// SetConfig implements the RPC: without a nomad_config it only checks.
func (b *Base) SetConfig(
	ctx context.Context, req *basepb.SetConfigRequest,
) (*basepb.SetConfigResponse, error) {
	cfg := wire.ToConfig(req)
	if c, ok := b.driver.(base.Configurable); ok {
		if err := c.CheckConfig(cfg); err != nil {
			return nil, wire.Error(ctx, err)
		}
		if cfg.Agent == nil {
			return &basepb.SetConfigResponse{}, nil
		}
		if err := c.Configure(ctx, cfg); err != nil {
			return nil, wire.Error(ctx, err)
		}
	}
	if cfg.Agent != nil {
		b.configured.Store(true)
	}
	return &basepb.SetConfigResponse{}, nil
}
