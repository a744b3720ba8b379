package host

import (
	"context"

	"doze/plugins/drivers"
	"doze/plugins/proto/driverpb"
)

// Capabilities are what a plugin can do.
type Capabilities struct {
	drivers.Capabilities
	Signals, Exec, MakesNetworks bool
}

// Capabilities asks what the plugin can do.
func (p *Plugin) Capabilities(ctx context.Context) (Capabilities, error) {
	r, err := p.driver.Capabilities(ctx, &driverpb.CapabilitiesRequest{})
	if err != nil {
		return Capabilities{}, p.failed(ctx, err)
	}
	pb := r.GetCapabilities()
	out := Capabilities{
		Capabilities: drivers.Capabilities{
			Filesystem:      drivers.FilesystemIsolation(pb.GetFsIsolation()),
			NoMounts:        pb.GetMountConfigs() == driverpb.DriverCapabilities_NO_MOUNTS,
			NoLogCollection: pb.GetDisableLogCollection(),
			DynamicUsers:    pb.GetDynamicWorkloadUsers(),
		},
		Signals: pb.GetSendSignals(), Exec: pb.GetExec(), MakesNetworks: pb.GetMustCreateNetwork(),
	}
	for _, mode := range pb.GetNetworkIsolationModes() {
		out.Networks = append(out.Networks, drivers.NetworkMode(mode))
	}
	return out, nil
}
