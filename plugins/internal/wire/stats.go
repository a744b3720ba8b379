package wire

import (
	"doze/plugins/drivers"
	"doze/plugins/proto/driverpb"
)

// FromStats always has a timestamp and a usage: agents follow both unasked.
func FromStats(id string, s drivers.Stats) *driverpb.TaskStats {
	out := &driverpb.TaskStats{
		Id: id, Timestamp: timestamp(s.At), AggResourceUsage: fromUsage(s.Usage),
		ResourceUsageByPid: make(map[string]*driverpb.TaskResourceUsage, len(s.ByPID)),
	}
	for pid, u := range s.ByPID {
		out.ResourceUsageByPid[pid] = fromUsage(u)
	}
	return out
}

func ToStats(pb *driverpb.TaskStats) drivers.Stats {
	out := drivers.Stats{At: toTime(pb.GetTimestamp()), Usage: toUsage(pb.GetAggResourceUsage())}
	for pid, u := range pb.GetResourceUsageByPid() {
		if out.ByPID == nil {
			out.ByPID = map[string]drivers.Usage{}
		}
		out.ByPID[pid] = toUsage(u)
	}
	return out
}

func fromUsage(u drivers.Usage) *driverpb.TaskResourceUsage {
	out := &driverpb.TaskResourceUsage{}
	if c := u.CPU; c != nil {
		out.Cpu = &driverpb.CPUUsage{SystemMode: c.System, UserMode: c.User, Percent: c.Percent,
			TotalTicks: c.Ticks, ThrottledPeriods: c.ThrottledPeriods, ThrottledTime: c.ThrottledTime,
			MeasuredFields: convert[driverpb.CPUUsage_Fields](c.Measured)}
	}
	if m := u.Memory; m != nil {
		out.Memory = &driverpb.MemoryUsage{Rss: m.RSS, Cache: m.Cache, Swap: m.Swap,
			Usage: m.Usage, MaxUsage: m.MaxUsage, KernelUsage: m.Kernel,
			KernelMaxUsage: m.KernelMaxUsage,
			MeasuredFields: convert[driverpb.MemoryUsage_Fields](m.Measured)}
	}
	return out
}

func toUsage(pb *driverpb.TaskResourceUsage) drivers.Usage {
	var out drivers.Usage
	if c := pb.GetCpu(); c != nil {
		out.CPU = &drivers.CPUUsage{System: c.GetSystemMode(), User: c.GetUserMode(),
			Percent: c.GetPercent(), Ticks: c.GetTotalTicks(),
			ThrottledPeriods: c.GetThrottledPeriods(), ThrottledTime: c.GetThrottledTime(),
			Measured: convert[drivers.CPUField](c.GetMeasuredFields())}
	}
	if m := pb.GetMemory(); m != nil {
		out.Memory = &drivers.MemoryUsage{RSS: m.GetRss(), Cache: m.GetCache(), Swap: m.GetSwap(),
			Usage: m.GetUsage(), MaxUsage: m.GetMaxUsage(), Kernel: m.GetKernelUsage(),
			KernelMaxUsage: m.GetKernelMaxUsage(),
			Measured:       convert[drivers.MemoryField](m.GetMeasuredFields())}
	}
	return out
}

// convert turns enumerations with the same numbers into one another.
func convert[To, From ~int32 | ~int](in []From) []To {
	var out []To
	for _, n := range in {
		out = append(out, To(n))
	}
	return out
}
