package drivers

import (
	"errors"
	"path/filepath"

	"doze/plugins/hclspec"
)

// ErrNoConfig says that a task's `config` block did not come along: Nomad does
// not keep it over a restart.
var ErrNoConfig = errors.New("the task has no config block here: " +
	"Nomad sends it to Start only")

// TaskConfig is a task to start.
type TaskConfig struct {
	ID   string // <allocation>/<task>/<8 hex digits>, new at every start
	Name string

	JobID, JobName   string
	Group, Namespace string
	AllocID          string
	NodeID, NodeName string

	// Raw is the `config` block in msgpack, in the shape of TaskSchema.
	// Recover never has it.
	Raw []byte

	Env       map[string]string
	DeviceEnv map[string]string // what device plugins add to Env
	User      string            // "": not given by the job

	// AllocDir is the allocation's directory, TaskDir lies in it.
	AllocDir string
	// StdoutPath and StderrPath are fifos that Nomad reads until their last
	// writer closes, then no more: keep them open for all of the task's life.
	// They lie in a directory that the task can write to: open them without
	// following links.
	StdoutPath, StderrPath string

	Resources Resources
	Mounts    []Mount
	Devices   []Device
	Network   *Network // nil: the machine's
	DNS       *DNS     // nil: the machine's
}

// Decode reads the `config` block into a struct; see hclspec.Decode. In Recover
// it fails with ErrNoConfig: put what you need into Started.State.
func (c TaskConfig) Decode(into any) error {
	if len(c.Raw) == 0 {
		return ErrNoConfig
	}
	return hclspec.Decode(c.Raw, into)
}

// TaskDir is the task's own directory, which holds local, secrets and tmp.
func (c TaskConfig) TaskDir() string { return filepath.Join(c.AllocDir, c.Name) }

// SharedDir is the directory that all tasks of the allocation share.
func (c TaskConfig) SharedDir() string { return filepath.Join(c.AllocDir, "alloc") }

// Resources are what a task may use.
type Resources struct {
	CPUShares int64 // MHz, as in the job
	MemoryMB  int64 // MiB, reserved
	// MemoryMaxMB is the limit, in MiB; 0: MemoryMB is.
	MemoryMaxMB int64
	Ports       []Port
	Networks    []NetworkResource // ports of the task's own network blocks
	Linux       LinuxResources
}

// Port is a port of the task's group.
type Port struct {
	Label  string
	Value  int32  // on the machine
	To     int32  // in the group's namespace; 0: Value
	HostIP string // the address that Value is on
}

// NetworkResource is a network of a task.
type NetworkResource struct {
	Device, CIDR, IP        string
	Mbits                   int32
	ReservedPorts, DynPorts []Port // Label and Value only
}

// LinuxResources are Resources in the kernel's terms.
type LinuxResources struct {
	CPUPeriod, CPUQuota int64 // microseconds; 0: no quota
	CPUShares           int64
	MemoryLimitBytes    int64
	OOMScoreAdj         int64
	CPUSet              string  // cores reserved for the task: "0-1,4"; "": none
	CgroupPath          string  // since Nomad 1.7 it exists before Start
	PercentTicks        float64 // the share of the machine's compute, 0 to 1
}

// Mount is a directory or file of the machine to be seen in the task.
type Mount struct {
	TaskPath, HostPath string
	ReadOnly           bool
	Propagation        string // "private", "host-to-task", "bidirectional"; "": private
	SELinuxLabel       string // since Nomad 1.8
	RequestName        string // the volume's name in the job, since Nomad 2.0.1
}

// Device is a device node to be seen in the task.
type Device struct {
	TaskPath, HostPath string
	Permissions        string // of cgroups: any of "rwm"
}

// DNS is the resolver configuration of a task.
type DNS struct {
	Servers, Searches, Options []string
}
