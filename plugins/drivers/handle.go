package drivers

import "time"

// Started is a task that has started.
type Started struct {
	// State is the driver's own: Recover gets it back, also in another process
	// and after a restart of the agent, and nothing else that the driver knew.
	State []byte
	// Version of State, the driver's own.
	Version int
	// Network overrides the address under which the task is registered; nil: Nomad's.
	Network *NetworkOverride
}

// Handle is a started task as Nomad remembers it.
type Handle struct {
	Version int
	State   []byte
	// Task is what Start got, without Raw.
	Task TaskConfig
}

// NetworkOverride is an address that a driver has given to a task.
type NetworkOverride struct {
	Ports     map[string]int32 // by label
	IP        string
	Advertise bool // use IP also where the job does not ask for it
}

// ExitResult is how a task has ended. The zero value is success.
type ExitResult struct {
	Code   int // the exit code
	Signal int // the number of the signal that ended it; 0: none
	// OOMKilled only adds to the message: it does not make a failure of
	// Code 0 and Signal 0.
	OOMKilled bool
	// Message tells people why, in the task's events. With one the task has
	// failed, whatever Code says.
	Message string
}

// TaskState is the state of a task.
type TaskState int

const (
	TaskUnknown TaskState = iota
	TaskRunning
	TaskExited
)

// Status is what a driver knows of a task.
type Status struct {
	ID, Name               string
	State                  TaskState
	StartedAt, CompletedAt time.Time  // zero: not yet
	Exit                   ExitResult // once State is TaskExited
	Attributes             map[string]string
	Network                *NetworkOverride // as in Started
}

// Event is something in a task's life that its owner should read in `nomad alloc
// status`.
type Event struct {
	TaskID, AllocID, TaskName string
	At                        time.Time
	Message                   string
	Details                   map[string]string
}
