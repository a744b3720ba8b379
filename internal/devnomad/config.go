package devnomad

import (
	"log/slog"
	"net"
	"time"
)

// Config says how a Cluster behaves. The zero value is a cluster without ACLs
// on a free loopback port that runs tasks as real processes in a temporary
// directory.
type Config struct {
	// Listener takes the API's connections; nil: 127.0.0.1 on a free port.
	// The cluster closes it.
	Listener net.Listener

	// DataDir holds the allocations' directories and logs. "": a temporary
	// directory that Close removes.
	DataDir string

	// Runner runs the tasks of the drivers raw_exec, exec and doze that
	// Drivers does not name; nil: real processes.
	Runner Runner

	// Drivers adds drivers by name, or replaces them.
	Drivers map[string]Runner

	// ACLToken turns ACLs on and is the secret of the bootstrap management
	// token; "": ACLs are off.
	ACLToken string

	Region     string // "": global
	Datacenter string // "": dc1
	Node       string // the node's name; "": devnomad

	// What the node offers; zero: 4000 MHz and 4096 MiB.
	CPU      int
	MemoryMB int

	Timing Timing
	Faults *Faults
	Log    *slog.Logger // nil: discard
}

// Timing holds the delays that a real cluster has. A zero field means the
// default that was measured on a real agent; a negative one means none.
type Timing struct {
	// Placement is what an evaluation takes until its plan; 7 ms.
	Placement time.Duration

	// Start is what the client takes before it starts an allocation's tasks; 0.
	Start time.Duration

	// StatusTick paces the client's status reports: an urgent one goes with the
	// next tick, any other with the next fifth; 200 ms.
	StatusTick time.Duration

	// StatusBatch is how long the server gathers reports; 50 ms.
	StatusBatch time.Duration

	// DeploymentBatch is how long the server takes to look at a deployment
	// after a change of health; 1.25 s.
	DeploymentBatch time.Duration
}

func (t Timing) withDefaults() Timing {
	orDefault(&t.Placement, 7*time.Millisecond)
	orDefault(&t.Start, 0)
	orDefault(&t.StatusTick, 200*time.Millisecond)
	orDefault(&t.StatusBatch, 50*time.Millisecond)
	orDefault(&t.DeploymentBatch, 1250*time.Millisecond)
	return t
}

func orDefault(d *time.Duration, def time.Duration) {
	switch {
	case *d == 0:
		*d = def
	case *d < 0:
		*d = 0
	}
}

func (c Config) withDefaults() Config {
	if c.Region == "" {
		c.Region = "global"
	}
	if c.Datacenter == "" {
		c.Datacenter = "dc1"
	}
	if c.Node == "" {
		c.Node = "devnomad"
	}
	if c.CPU == 0 {
		c.CPU = 4000
	}
	if c.MemoryMB == 0 {
		c.MemoryMB = 4096
	}
	if c.Faults == nil {
		c.Faults = &Faults{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Timing = c.Timing.withDefaults()
	return c
}
