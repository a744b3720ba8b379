package jobs

import (
	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

// GroupShape is what a policy is checked against: the parts of the job around the block.
// The zero value is a service job's group without ports.
type GroupShape struct {
	ID       idle.GroupID
	JobType  string           // "": service
	Periodic bool             // the job has a periodic block
	Template bool             // the job is parameterized
	Min      int              // scaling.min
	Max      int              // scaling.max
	Ports    []string         // port labels of the group's networks, in order
	Services []*nomad.Service // of the group and its tasks, in order
}
