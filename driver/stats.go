package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/plugins/base"
	"doze/plugins/drivers"
)

// Stats implements drivers.StatsSource. All of it comes from the task's cgroup.
func (d *Driver) Stats(ctx context.Context, id string, every time.Duration,
	send func(drivers.Stats) error,
) error {
	t, err := d.tasks.get(id)
	if err != nil {
		return err
	}
	tick := time.NewTicker(max(every, time.Second))
	defer tick.Stop()
	meter := meter{clock: d.coreClock()}
	for {
		used, err := t.dog.Stats(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded), // which ctx may not know yet
			errors.Is(err, shepherd.ErrGone):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read the usage of task %q: %w", id, err)
		}
		if err := send(meter.read(time.Now(), used)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// meter turns counters into rates: of the time since the reading before, or nothing at the
// first.
type meter struct {
	clock float64 // MHz of one core; 0: not known
	at    time.Time
	last  shepherd.Stats
}

func (m *meter) read(now time.Time, s shepherd.Stats) drivers.Stats {
	cpu := &drivers.CPUUsage{
		ThrottledPeriods: s.CPU.ThrottledPeriods, ThrottledTime: s.CPU.ThrottledTime,
		Measured: []drivers.CPUField{drivers.CPUSystem, drivers.CPUUser, drivers.CPUPercent,
			drivers.CPUThrottledPeriods, drivers.CPUThrottledTime},
	}
	if passed := now.Sub(m.at); !m.at.IsZero() && passed > 0 {
		cpu.System = percent(m.last.CPU.System, s.CPU.System, passed)
		cpu.User = percent(m.last.CPU.User, s.CPU.User, passed)
		cpu.Percent = percent(m.last.CPU.Total, s.CPU.Total, passed)
	}
	if m.clock > 0 {
		cpu.Ticks = cpu.Percent / 100 * m.clock
		cpu.Measured = append(cpu.Measured, drivers.CPUTicks)
	}
	m.at, m.last = now, s
	return drivers.Stats{At: now, Usage: drivers.Usage{CPU: cpu, Memory: memoryUsage(s.Memory)}}
}

// percent of one core; a counter that has gone back counts as standing still.
func percent(before, after uint64, passed time.Duration) float64 {
	if after <= before {
		return 0
	}
	return float64(after-before) / float64(passed) * 100
}

func memoryUsage(m cgroup.Memory) *drivers.MemoryUsage {
	usage := &drivers.MemoryUsage{
		RSS: m.RSS, Cache: m.Cache, Usage: m.Usage, Kernel: m.KernelUsage,
		MaxUsage: m.Max, Swap: m.Swap,
		Measured: []drivers.MemoryField{drivers.MemoryRSS, drivers.MemoryCache,
			drivers.MemoryTotal, drivers.MemoryKernel},
	}
	if m.MaxKnown {
		usage.Measured = append(usage.Measured, drivers.MemoryMaxUsage)
	}
	if m.HasSwap {
		usage.Measured = append(usage.Measured, drivers.MemorySwap)
	}
	return usage
}

// coreClock is the speed of one core in MHz; 0: the agent has not told.
func (d *Driver) coreClock() float64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.clock
}

// clockOf is the mean speed of the agent's cores, by which Nomad counts a task's ticks.
func clockOf(agent *base.Agent) float64 {
	if agent == nil || agent.Topology == nil || len(agent.Topology.Cores) == 0 {
		return 0
	}
	cores := agent.Topology.Cores
	if total := agent.Topology.OverrideCompute; total > 0 {
		return float64(total) / float64(len(cores))
	}
	var sum uint64
	for _, core := range cores {
		switch {
		case core.BaseSpeed > 0:
			sum += core.BaseSpeed
		case core.MaxSpeed > 0:
			sum += core.MaxSpeed
		default:
			sum += core.GuessedSpeed
		}
	}
	return float64(sum) / float64(len(cores))
}
