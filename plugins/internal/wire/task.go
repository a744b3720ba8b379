package wire

import (
	"doze/plugins/drivers"
	"doze/plugins/proto/driverpb"
)

func FromTask(t drivers.TaskConfig) *driverpb.TaskConfig {
	return &driverpb.TaskConfig{
		Id: t.ID, Name: t.Name, MsgpackDriverConfig: t.Raw,
		Env: t.Env, DeviceEnv: t.DeviceEnv, User: t.User,
		AllocDir: t.AllocDir, StdoutPath: t.StdoutPath, StderrPath: t.StderrPath,
		TaskGroupName: t.Group, JobName: t.JobName, JobId: t.JobID,
		AllocId: t.AllocID, Namespace: t.Namespace, NodeName: t.NodeName, NodeId: t.NodeID,
		Resources:            fromResources(t.Resources),
		Mounts:               fromMounts(t.Mounts),
		Devices:              fromDevices(t.Devices),
		NetworkIsolationSpec: FromNetwork(t.Network),
		Dns:                  fromDNS(t.DNS),
	}
}

func ToTask(pb *driverpb.TaskConfig) drivers.TaskConfig {
	return drivers.TaskConfig{
		ID: pb.GetId(), Name: pb.GetName(), Raw: pb.GetMsgpackDriverConfig(),
		Env: pb.GetEnv(), DeviceEnv: pb.GetDeviceEnv(), User: pb.GetUser(),
		AllocDir: pb.GetAllocDir(), StdoutPath: pb.GetStdoutPath(), StderrPath: pb.GetStderrPath(),
		Group: pb.GetTaskGroupName(), JobName: pb.GetJobName(), JobID: pb.GetJobId(),
		AllocID: pb.GetAllocId(), Namespace: pb.GetNamespace(),
		NodeName: pb.GetNodeName(), NodeID: pb.GetNodeId(),
		Resources: toResources(pb.GetResources()),
		Mounts:    toMounts(pb.GetMounts()),
		Devices:   toDevices(pb.GetDevices()),
		Network:   ToNetwork(pb.GetNetworkIsolationSpec()),
		DNS:       toDNS(pb.GetDns()),
	}
}

// FromHandle leaves out Raw, as Nomad does when it stores a handle.
func FromHandle(h drivers.Handle) *driverpb.TaskHandle {
	h.Task.Raw = nil
	return &driverpb.TaskHandle{
		Version: int32(h.Version), Config: FromTask(h.Task),
		State: driverpb.TaskState_RUNNING, DriverState: h.State,
	}
}

// ToHandle leaves out Raw also where the agent still had it: a driver that needed
// it would only fail after the agent's next restart.
func ToHandle(pb *driverpb.TaskHandle) drivers.Handle {
	h := drivers.Handle{
		Version: int(pb.GetVersion()), State: pb.GetDriverState(), Task: ToTask(pb.GetConfig()),
	}
	h.Task.Raw = nil
	return h
}

func fromMounts(mounts []drivers.Mount) []*driverpb.Mount {
	var out []*driverpb.Mount
	for _, m := range mounts {
		out = append(out, &driverpb.Mount{TaskPath: m.TaskPath, HostPath: m.HostPath,
			Readonly: m.ReadOnly, PropagationMode: m.Propagation,
			SelinuxLabel: m.SELinuxLabel, RequestName: m.RequestName})
	}
	return out
}

func toMounts(pbs []*driverpb.Mount) []drivers.Mount {
	var out []drivers.Mount
	for _, m := range pbs {
		out = append(out, drivers.Mount{TaskPath: m.GetTaskPath(), HostPath: m.GetHostPath(),
			ReadOnly: m.GetReadonly(), Propagation: m.GetPropagationMode(),
			SELinuxLabel: m.GetSelinuxLabel(), RequestName: m.GetRequestName()})
	}
	return out
}

func fromDevices(devices []drivers.Device) []*driverpb.Device {
	var out []*driverpb.Device
	for _, d := range devices {
		out = append(out, &driverpb.Device{
			TaskPath: d.TaskPath, HostPath: d.HostPath, CgroupPermissions: d.Permissions})
	}
	return out
}

func toDevices(pbs []*driverpb.Device) []drivers.Device {
	var out []drivers.Device
	for _, d := range pbs {
		out = append(out, drivers.Device{TaskPath: d.GetTaskPath(),
			HostPath: d.GetHostPath(), Permissions: d.GetCgroupPermissions()})
	}
	return out
}

func fromDNS(d *drivers.DNS) *driverpb.DNSConfig {
	if d == nil {
		return nil
	}
	return &driverpb.DNSConfig{Servers: d.Servers, Searches: d.Searches, Options: d.Options}
}

func toDNS(pb *driverpb.DNSConfig) *drivers.DNS {
	if pb == nil {
		return nil
	}
	return &drivers.DNS{
		Servers: pb.GetServers(), Searches: pb.GetSearches(), Options: pb.GetOptions()}
}
