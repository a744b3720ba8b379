package wire

import (
	"doze/plugins/drivers"
	"doze/plugins/proto/driverpb"
)

// FromNetwork needs no table: the numbers of the modes are the protocol's.
func FromNetwork(n *drivers.Network) *driverpb.NetworkIsolationSpec {
	if n == nil {
		return nil
	}
	out := &driverpb.NetworkIsolationSpec{
		Mode: driverpb.NetworkIsolationSpec_NetworkIsolationMode(n.Mode),
		Path: n.Path, Labels: n.Labels,
	}
	if n.Hostname != "" || n.Address != "" {
		out.HostsConfig = &driverpb.HostsConfig{Hostname: n.Hostname, Address: n.Address}
	}
	return out
}

func ToNetwork(pb *driverpb.NetworkIsolationSpec) *drivers.Network {
	if pb == nil {
		return nil
	}
	return &drivers.Network{
		Mode: drivers.NetworkMode(pb.GetMode()), Path: pb.GetPath(), Labels: pb.GetLabels(),
		Hostname: pb.GetHostsConfig().GetHostname(), Address: pb.GetHostsConfig().GetAddress(),
	}
}

func FromOverride(o *drivers.NetworkOverride) *driverpb.NetworkOverride {
	if o == nil {
		return nil
	}
	return &driverpb.NetworkOverride{PortMap: o.Ports, Addr: o.IP, AutoAdvertise: o.Advertise}
}

func ToOverride(pb *driverpb.NetworkOverride) *drivers.NetworkOverride {
	if pb == nil {
		return nil
	}
	return &drivers.NetworkOverride{
		Ports: pb.GetPortMap(), IP: pb.GetAddr(), Advertise: pb.GetAutoAdvertise()}
}
