package drivers

// Capabilities say what a driver can do, beyond what follows from the interfaces
// that it implements (signals, exec, making networks).
type Capabilities struct {
	Filesystem FilesystemIsolation
	// Networks are the modes a task's group may have; host is always allowed.
	Networks []NetworkMode
	// NoMounts makes Nomad refuse jobs that mount volumes into the task.
	NoMounts bool
	// NoLogCollection makes Nomad start no log collector: TaskConfig's
	// StdoutPath and StderrPath are not created.
	NoLogCollection bool
	// DynamicUsers lets Nomad run the task under a user id made up for it;
	// not before Nomad 1.8.
	DynamicUsers bool
}

// FilesystemIsolation says how a task sees the file system, which decides what
// Nomad puts into its directory and into its environment's paths.
type FilesystemIsolation int

const (
	// FilesystemShared tasks see the machine's file system.
	FilesystemShared FilesystemIsolation = iota
	// FilesystemChroot tasks see their directory, which Nomad populates.
	FilesystemChroot
	// FilesystemImage tasks bring their own.
	FilesystemImage
	// FilesystemUnveil tasks see parts of the machine's; not before Nomad 1.8.
	FilesystemUnveil
)

// NetworkMode is a kind of network isolation.
type NetworkMode int

const (
	NetworkHost  NetworkMode = iota // the machine's
	NetworkGroup                    // the group's namespace, handed over by Nomad
	NetworkTask                     // one for each task
	NetworkNone                     // nothing to isolate
)

// Network is the network namespace of an allocation.
type Network struct {
	Mode   NetworkMode
	Path   string // of the namespace
	Labels map[string]string
	// Hostname and Address are for the task's hosts file; "": none.
	Hostname, Address string
}
