package jobs

import (
	"fmt"
	"maps"
	"slices"

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
func ReadGroup(job *nomad.Job, tg *nomad.TaskGroup) (*Managed, Diagnostics) {
	if job == nil || tg == nil || isOff(tg.Scaling) {
		return nil, nil
	}
	shape := ShapeOf(job, tg)
	if !optsIn(tg.Scaling) {
		return nil, misspelt(shape, tg.Scaling.Policy)
	}
	policy, problems := ParsePolicy(tg.Scaling.Policy["doze"], shape)
	if len(problems) > 0 {
		return nil, problems
	}
	return &Managed{
		ID: shape.ID, Policy: policy, Min: shape.Min, Max: shape.Max, Count: countOf(tg),
	}, nil
}

// isOff reports whether a scaling block is left out or disabled.
func isOff(s *nomad.ScalingPolicy) bool {
	return s == nil || s.Enabled != nil && !*s.Enabled
}

// optsIn reports whether a scaling block asks for Doze.
func optsIn(s *nomad.ScalingPolicy) bool { return !isOff(s) && s.Policy["doze"] != nil }

// misspelt reports a block that was probably meant to be the doze block. Other programs
// have their own blocks in scaling.policy, so only a near miss counts.
func misspelt(g GroupShape, policy map[string]any) Diagnostics {
	to := &report{group: g.ID}
	at := place{g.path(), to}.under("scaling").under("policy")
	for _, key := range slices.Sorted(maps.Keys(policy)) {
		if distance(key, "doze") == 1 {
			at.under(key).fault(fmt.Sprintf("%q is not a block of Doze", key),
				"did you mean doze?")
		}
	}
	return to.found
}
