package drivers

import "time"

// Stats are what a task uses.
type Stats struct {
	At    time.Time
	Usage Usage
	ByPID map[string]Usage // nil: not told
}

// Usage is of a task or of one of its processes. What is nil was not measured.
type Usage struct {
	CPU    *CPUUsage
	Memory *MemoryUsage
}

// CPUUsage is compute used. Nomad shows what is Measured.
type CPUUsage struct {
	System, User, Percent float64 // percent of one core, over the last interval
	Ticks                 float64 // MHz, over the last interval
	ThrottledPeriods      uint64
	ThrottledTime         uint64 // nanoseconds
	Measured              []CPUField
}

// CPUField is a field of CPUUsage; the numbers are the protocol's.
type CPUField int

const (
	CPUSystem CPUField = iota
	CPUUser
	CPUTicks
	CPUThrottledPeriods
	CPUThrottledTime
	CPUPercent
)

// MemoryUsage is memory used, in bytes. Nomad shows what is Measured.
type MemoryUsage struct {
	RSS, Cache, Swap       uint64
	Usage, MaxUsage        uint64
	Kernel, KernelMaxUsage uint64
	Measured               []MemoryField
}

// MemoryField is a field of MemoryUsage; the numbers are the protocol's.
type MemoryField int

const (
	MemoryRSS MemoryField = iota
	MemoryCache
	MemoryMaxUsage
	MemoryKernel
	MemoryKernelMaxUsage
	MemoryTotal // Usage
	MemorySwap
)
