package cgroup

import (
	"fmt"
	"math"
	"strconv"
)

// defaultPeriod is the kernel's cpu.cfs_period_us.
const defaultPeriod = 100_000

// setting is one limit: the value, and the files that take it in v2 and in v1.
type setting struct {
	what             string
	v2file, v2value  string
	v1ctrl, v1file   string
	v1value          string
	optional, wanted bool
}

// limit sets what is limited; each refusal is told once.
func (g *Group) limit(l Limits) {
	for _, s := range settings(l) {
		if !s.wanted {
			continue
		}
		if err := g.set(s); err != nil && !s.optional {
			g.miss(s.what, err)
		}
	}
}

func (g *Group) set(s setting) error {
	if dir := g.legacy[s.v1ctrl]; dir != "" && s.v1file != "" {
		return write(dir, s.v1file, s.v1value)
	}
	if g.unified != "" && s.v2file != "" {
		return write(g.unified, s.v2file, s.v2value)
	}
	return fmt.Errorf("there is no %s controller", s.v1ctrl)
}

// settings lists the limits in the order in which they must be set: v1 refuses swap below
// memory.
func settings(l Limits) []setting {
	period := l.CPUPeriod
	if period == 0 {
		period = defaultPeriod
	}
	return []setting{
		{
			what: "cpu shares", wanted: l.CPUShares > 0,
			v2file: "cpu.weight", v2value: decimal(weight(l.CPUShares)),
			v1ctrl: "cpu", v1file: "cpu.shares", v1value: decimal(l.CPUShares),
		}, {
			what: "cpu period", wanted: l.CPUQuota > 0,
			v2file: "cpu.max", v2value: fmt.Sprintf("%d %d", l.CPUQuota, period),
			v1ctrl: "cpu", v1file: "cpu.cfs_period_us", v1value: decimal(period),
		}, {
			what: "cpu quota", wanted: l.CPUQuota > 0,
			v2file: "cpu.max", v2value: fmt.Sprintf("%d %d", l.CPUQuota, period),
			v1ctrl: "cpu", v1file: "cpu.cfs_quota_us", v1value: decimal(l.CPUQuota),
		}, {
			what: "memory limit", wanted: l.MemoryBytes > 0,
			v2file: "memory.max", v2value: decimal(l.MemoryBytes),
			v1ctrl: "memory", v1file: "memory.limit_in_bytes", v1value: decimal(l.MemoryBytes),
		}, {
			what: "memory reserve", wanted: l.MemoryReserve > 0,
			v2file: "memory.low", v2value: decimal(l.MemoryReserve),
			v1ctrl: "memory", v1file: "memory.soft_limit_in_bytes", v1value: decimal(l.MemoryReserve),
		}, {
			what: "swap limit", wanted: l.SwapBytes != 0, optional: l.SwapBytes < 0,
			v2file: "memory.swap.max", v2value: decimal(max(l.SwapBytes, 0)),
			v1ctrl: "memory", v1file: "memory.memsw.limit_in_bytes",
			v1value: decimal(l.withSwap()),
		}, {
			what: "pids limit", wanted: l.Pids > 0,
			v2file: "pids.max", v2value: decimal(l.Pids),
			v1ctrl: "pids", v1file: "pids.max", v1value: decimal(l.Pids),
		}, {
			what: "cpuset", wanted: l.Cpuset != "",
			v2file: "cpuset.cpus", v2value: l.Cpuset,
			v1ctrl: "cpuset", v1file: "cpuset.cpus", v1value: l.Cpuset,
		},
	}
}

// withSwap is what v1 calls memsw: memory and swap together.
func (l Limits) withSwap() int64 {
	if l.MemoryBytes == 0 {
		return math.MaxInt64
	}
	return l.MemoryBytes + max(l.SwapBytes, 0)
}

// weight is cpu.weight (1..10000, by default 100) for v1's shares (2..262144, by default
// 1024): the curve through these three that Nomad's own drivers and the container runtimes
// use, as what stands beside their tasks must weigh the same (kubernetes/kubernetes#131216).
func weight(shares uint64) uint64 {
	switch {
	case shares <= 2:
		return 1
	case shares >= 262144:
		return 10000
	}
	l := math.Log2(float64(shares))
	return uint64(math.Ceil(math.Pow(10, (l*l+125*l)/612-7.0/34)))
}

func decimal[N int64 | uint64](n N) string {
	if n < 0 {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatUint(uint64(n), 10)
}
