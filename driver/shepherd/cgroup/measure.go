package cgroup

import (
	"path/filepath"
	"strconv"
	"time"
)

// userHz is the unit of cpuacct.stat: sysconf(_SC_CLK_TCK), 100 on every Linux port of Go.
const userHz = 100

// noLimit is at least what the kernel reports for memory without a limit in v1.
const noLimit = 1 << 62

// Stats reads what the task has used.
func (g *Group) Stats() Stats {
	return Stats{CPU: g.cpu(), Memory: g.memory(), Pids: g.pids()}
}

func (g *Group) cpu() CPU {
	if dir := g.legacy["cpuacct"]; dir != "" {
		return g.legacyCPU(dir)
	}
	stat := readKeyed(g.unified, "cpu.stat")
	us := uint64(time.Microsecond)
	return CPU{
		Total:            stat["usage_usec"] * us,
		User:             stat["user_usec"] * us,
		System:           stat["system_usec"] * us,
		ThrottledPeriods: stat["nr_throttled"],
		ThrottledTime:    stat["throttled_usec"] * us,
	}
}

func (g *Group) legacyCPU(dir string) CPU {
	tick := uint64(time.Second / userHz)
	acct := readKeyed(dir, "cpuacct.stat")
	stat := readKeyed(g.legacy["cpu"], "cpu.stat")
	return CPU{
		Total:            readNumber(dir, "cpuacct.usage"),
		User:             acct["user"] * tick,
		System:           acct["system"] * tick,
		ThrottledPeriods: stat["nr_throttled"],
		ThrottledTime:    stat["throttled_time"],
	}
}

func (g *Group) memory() Memory {
	if dir := g.legacy["memory"]; dir != "" {
		return legacyMemory(dir)
	}
	dir := g.unified
	stat := readKeyed(dir, "memory.stat")
	return Memory{
		Usage:       readNumber(dir, "memory.current"),
		Max:         readNumber(dir, "memory.peak"),
		MaxKnown:    exists(dir, "memory.peak"),
		RSS:         stat["anon"],
		Cache:       stat["file"],
		MappedFile:  stat["file_mapped"],
		Swap:        readNumber(dir, "memory.swap.current"),
		HasSwap:     exists(dir, "memory.swap.current"),
		KernelUsage: stat["kernel"],
		OOMKills:    g.OOMKills(),
		Limit:       readNumber(dir, "memory.max"),
	}
}

func legacyMemory(dir string) Memory {
	stat := readKeyed(dir, "memory.stat")
	m := Memory{
		Usage:       readNumber(dir, "memory.usage_in_bytes"),
		Max:         readNumber(dir, "memory.max_usage_in_bytes"),
		MaxKnown:    true,
		RSS:         stat["rss"],
		Cache:       stat["cache"],
		MappedFile:  stat["mapped_file"],
		KernelUsage: readNumber(dir, "memory.kmem.usage_in_bytes"),
		OOMKills:    readKeyed(dir, "memory.oom_control")["oom_kill"],
		Limit:       readNumber(dir, "memory.limit_in_bytes"),
	}
	if swapping := readNumber(dir, "memory.memsw.usage_in_bytes"); swapping > m.Usage {
		m.Swap, m.HasSwap = swapping-m.Usage, true
	}
	if m.Limit >= noLimit {
		m.Limit = 0
	}
	return m
}

// OOMKills is how many of the task's processes the kernel has killed for lack of memory.
func (g *Group) OOMKills() uint64 {
	if dir := g.legacy["memory"]; dir != "" {
		return readKeyed(dir, "memory.oom_control")["oom_kill"]
	}
	return readKeyed(g.unified, "memory.events")["oom_kill"]
}

// pids counts threads, as the kernel's limit does. The thread that starts the task's
// processes lives in its v1 cgroups (see EnterThread) and is not counted.
func (g *Group) pids() uint64 {
	dir, own := g.legacy["pids"], uint64(1)
	if dir == "" {
		dir, own = g.unified, 0
	}
	if exists(dir, "pids.current") {
		return max(readNumber(dir, "pids.current"), own) - own
	}
	var threads uint64
	for _, pid := range g.Processes() {
		tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*")
		if err == nil { // the pattern is well formed
			threads += uint64(len(tasks))
		}
	}
	return threads
}
