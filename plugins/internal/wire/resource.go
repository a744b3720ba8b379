package wire

import (
	"doze/plugins/drivers"
	"doze/plugins/proto/driverpb"
)

func fromResources(r drivers.Resources) *driverpb.Resources {
	out := &driverpb.Resources{
		AllocatedResources: &driverpb.AllocatedTaskResources{
			Cpu: &driverpb.AllocatedCpuResources{CpuShares: r.CPUShares},
			Memory: &driverpb.AllocatedMemoryResources{
				MemoryMb: r.MemoryMB, MemoryMaxMb: r.MemoryMaxMB},
		},
		LinuxResources: &driverpb.LinuxResources{
			CpuPeriod: r.Linux.CPUPeriod, CpuQuota: r.Linux.CPUQuota, CpuShares: r.Linux.CPUShares,
			MemoryLimitBytes: r.Linux.MemoryLimitBytes, OomScoreAdj: r.Linux.OOMScoreAdj,
			CpusetCpus: r.Linux.CPUSet, CpusetCgroup: r.Linux.CgroupPath,
			PercentTicks: r.Linux.PercentTicks,
		},
	}
	for _, n := range r.Networks {
		out.AllocatedResources.Networks = append(out.AllocatedResources.Networks,
			&driverpb.NetworkResource{Device: n.Device, Cidr: n.CIDR, Ip: n.IP, Mbits: n.Mbits,
				ReservedPorts: fromTaskPorts(n.ReservedPorts), DynamicPorts: fromTaskPorts(n.DynPorts)})
	}
	for _, p := range r.Ports {
		out.Ports = append(out.Ports, &driverpb.PortMapping{
			Label: p.Label, Value: p.Value, To: p.To, HostIp: p.HostIP})
	}
	return out
}

func toResources(pb *driverpb.Resources) drivers.Resources {
	a, l := pb.GetAllocatedResources(), pb.GetLinuxResources()
	out := drivers.Resources{
		CPUShares:   a.GetCpu().GetCpuShares(),
		MemoryMB:    a.GetMemory().GetMemoryMb(),
		MemoryMaxMB: a.GetMemory().GetMemoryMaxMb(),
		Linux: drivers.LinuxResources{
			CPUPeriod: l.GetCpuPeriod(), CPUQuota: l.GetCpuQuota(), CPUShares: l.GetCpuShares(),
			MemoryLimitBytes: l.GetMemoryLimitBytes(), OOMScoreAdj: l.GetOomScoreAdj(),
			CPUSet: l.GetCpusetCpus(), CgroupPath: l.GetCpusetCgroup(),
			PercentTicks: l.GetPercentTicks(),
		},
	}
	for _, n := range a.GetNetworks() {
		out.Networks = append(out.Networks, drivers.NetworkResource{
			Device: n.GetDevice(), CIDR: n.GetCidr(), IP: n.GetIp(), Mbits: n.GetMbits(),
			ReservedPorts: toTaskPorts(n.GetReservedPorts()),
			DynPorts:      toTaskPorts(n.GetDynamicPorts())})
	}
	for _, p := range pb.GetPorts() {
		out.Ports = append(out.Ports, drivers.Port{
			Label: p.GetLabel(), Value: p.GetValue(), To: p.GetTo(), HostIP: p.GetHostIp()})
	}
	return out
}

func fromTaskPorts(ports []drivers.Port) []*driverpb.NetworkPort {
	var out []*driverpb.NetworkPort
	for _, p := range ports {
		out = append(out, &driverpb.NetworkPort{Label: p.Label, Value: p.Value})
	}
	return out
}

func toTaskPorts(pbs []*driverpb.NetworkPort) []drivers.Port {
	var out []drivers.Port
	for _, p := range pbs {
		out = append(out, drivers.Port{Label: p.GetLabel(), Value: p.GetValue()})
	}
	return out
}
