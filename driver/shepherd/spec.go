package shepherd

import (
	"time"

	"doze/driver/shepherd/cgroup"
	"doze/healthgate"
)

// Activation says who holds the port of a task that listens.
type Activation string

const (
	// Relay: the shepherd listens and passes bytes on to the application's private port.
	Relay Activation = ""
	// Socket: the application is given the listening socket as file descriptor 3 (LISTEN_FDS,
	// LISTEN_PID, LISTEN_FDNAMES, as systemd does); the shepherd looks at it only while the
	// task sleeps, so no byte passes through it.
	Socket Activation = "socket"
)

// Spec is everything a shepherd needs to know of its task, for life. It is handed over
// through a pipe and kept nowhere. The zero value of a field that says nothing else turns
// that feature off.
type Spec struct {
	TaskID string // for messages
	// Command is absolute, or relative to Dir; a bare name is looked up in Dir/local, Dir
	// and then Env's PATH. Required. In Args and Env ${DOZE_PORT} stands for the port that
	// the application is to listen on.
	Command   string
	Args, Env []string
	Dir       string // the task's directory and first working directory; required
	User      string // name or numeric id[:gid]; "" means nobody; ignored unless root
	// Stdout and Stderr are named pipes that exist already (or /dev/null, as ""). They are
	// opened for writing, through no link, and kept open until Destroy.
	Stdout, Stderr string
	// Logs has the shepherd write the output to files itself instead; the zero value does not.
	Logs LogFiles

	Listen     string // host:port that wakes the task; "" means it never sleeps by itself
	Activation Activation
	PortEnv    string // in Relay, the private port is given in this variable too

	FreezeAfter, ParkAfter time.Duration // idle for that long; 0: never
	OnDemand               bool          // born parked
	WakeTimeout            time.Duration // bounds a wake; 0: 60s
	// ParkSignal and ParkTimeout end the application when it is parked: "" is SIGTERM, 0 is
	// 5s, after which it is killed.
	ParkSignal  string
	ParkTimeout time.Duration

	// Probe says when the application is ready; the zero value probes by tcp. Kind exec
	// runs inside the task. Dial is ignored.
	Probe healthgate.ProbeConfig `json:"-"` // see letter
	// Shield are paths that the shepherd answers (200) for a sleeping task without waking
	// it, and that do not count as use of one that is awake. Relay only.
	Shield []string

	Cgroup cgroup.Spec
	NetNS  string // path of the network namespace to live in; "" the one of Launch's caller
	// Resolver is the text of the /etc/resolv.conf that the task sees; "": the machine's.
	Resolver string
	// Pressure is the PSI file that is watched while the task is frozen; "" means
	// /proc/pressure/memory. Where there is none nothing is watched.
	Pressure string
}
