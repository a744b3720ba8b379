package cgroup

// Stats is what a task has used. What could not be read is 0.
type Stats struct {
	CPU    CPU    `json:"cpu"`
	Memory Memory `json:"memory"`
	Pids   uint64 `json:"pids"` // processes and threads now
}

// CPU counts since the task's first start, in nanoseconds.
type CPU struct {
	Total, User, System uint64
	ThrottledPeriods    uint64
	ThrottledTime       uint64
}

// Memory is in bytes.
type Memory struct {
	Usage, Max        uint64 // now, and the most there has been
	RSS, Cache        uint64 // anonymous, and page cache
	MappedFile        uint64
	Swap              uint64
	KernelUsage       uint64
	OOMKills          uint64 // processes that the kernel killed
	Limit             uint64 // 0: none
	MaxKnown, HasSwap bool   // whether the kernel reports Max and Swap
}
