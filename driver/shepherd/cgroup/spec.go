package cgroup

// Spec says where a task's processes are put and what they may use. The zero value means no
// cgroup at all: no freezer, no limits, no stats but those of the process.
type Spec struct {
	// Unified is the task's directory in the cgroup v2 hierarchy, absolute; in hybrid mode
	// the one below the cgroup2 mount. "": none.
	Unified string
	// Lent says that Unified is somebody else's, who wants it to be there for the next one:
	// Remove leaves it empty and as new.
	Lent bool
	// Legacy are the task's directories in v1 hierarchies by controller: cpu, cpuacct,
	// memory, freezer, pids, cpuset. A controller that v2 has does not belong here.
	Legacy map[string]string
	// Shepherd are directories that the shepherd itself moves to (their cgroup.procs), so
	// that it is outside of its caller's and of the task's. None: it stays.
	Shepherd []string
	Limits   Limits
}

// Limits are what a task may use. 0 and "" mean no limit.
type Limits struct {
	CPUShares   uint64 // weight as in cgroup v1, 2..262144
	CPUQuota    int64  // µs of CPU in each period
	CPUPeriod   uint64 // µs; 0 with a quota: 100000
	MemoryBytes int64  // hard limit
	// MemoryReserve is kept from reclaim (memory.low, soft limit in v1).
	MemoryReserve int64
	// SwapBytes is how much may be swapped out beside MemoryBytes; negative: none at all.
	SwapBytes int64
	Pids      int64
	Cpuset    string // "0-3,8"
}
