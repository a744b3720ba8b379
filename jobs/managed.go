package jobs

import (
	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

// Managed is one group that opted in, with its policy resolved.
type Managed struct {
	ID     idle.GroupID
	Policy Policy
	Min    int    // scaling.min, always 0
	Max    int    // scaling.max, at least 1
	Count  int    // the job's count: 0 is a group born asleep
	Pos    string // file:line of the doze block where that is known, "" otherwise
}

// ReadGroup reads what one group says about Doze. nil without Diagnostics: the group did
// not opt in (no scaling block, no doze block, or enabled = false). nil with Diagnostics:
// it is misconfigured and left alone.
func ReadGroup(job *nomad.Job, tg *nomad.TaskGroup) (*Managed, Diagnostics) { panic("skeleton") }
