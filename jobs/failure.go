package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// failure says why the wake cannot succeed any more, nil while it can: nothing is alive and
// nothing could be placed or what was placed has failed, or every live allocation has a
// task that did not start and won't within the wake's time.
func (a *arrival) failure(ctx context.Context, stubs, alive []*nomad.AllocationListStub,
	unplaced error) error {
	if len(alive) == 0 {
		if unplaced != nil {
			return unplaced
		}
		return a.lastFailure(stubs)
	}
	var first error
	for _, stub := range alive {
		words := taskFailure(stub, timeLeft(ctx))
		if words == "" {
			return nil
		}
		if first == nil {
			first = errors.New(words)
		}
	}
	return first
}

// lastFailure words the newest failed allocation, of this wake if it has asked for any;
// stubs come newest first.
func (a *arrival) lastFailure(stubs []*nomad.AllocationListStub) error {
	for _, stub := range stubs {
		failed := stub.ClientStatus == nomad.AllocClientStatusFailed
		if failed && (!a.wrote || stub.CreateIndex > a.index) {
			a.spent = !a.wrote
			return errors.New(failedWords(stub))
		}
	}
	return nil
}

func timeLeft(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return time.Duration(1<<63 - 1)
}

// failedWords says why an allocation failed, by the last thing that went wrong in a task.
func failedWords(stub *nomad.AllocationListStub) string {
	for _, name := range slices.Sorted(maps.Keys(stub.TaskStates)) {
		state := stub.TaskStates[name]
		if state == nil || !state.Failed {
			continue
		}
		for _, e := range slices.Backward(state.Events) {
			if neverRan(e) || e.Type == nomad.TaskTerminated {
				return taskWords(stub, name, e)
			}
		}
	}
	return fmt.Sprintf("allocation %s failed: %s", short(stub.ID), stub.ClientDescription)
}

// taskFailure says which task of a live allocation won't run within left; "": none.
func taskFailure(stub *nomad.AllocationListStub, left time.Duration) string {
	for _, name := range slices.Sorted(maps.Keys(stub.TaskStates)) {
		if state := stub.TaskStates[name]; state != nil {
			if e := hopeless(state.Events, left); e != nil {
				return taskWords(stub, name, e)
			}
		}
	}
	return ""
}

// hopeless returns the event that says why a task did not start or ended, when it won't be
// started again within left; nil while there is hope.
func hopeless(events []*nomad.TaskEvent, left time.Duration) *nomad.TaskEvent {
	var bad, ended *nomad.TaskEvent
	for _, e := range events {
		switch {
		case e == nil:
		case neverRan(e):
			bad = e
		case e.Type == nomad.TaskStarted:
			bad, ended = nil, nil
		case e.Type == nomad.TaskTerminated:
			ended = e
		case e.Type == nomad.TaskNotRestarting,
			e.Type == nomad.TaskRestarting && startDelay(e) >= left:
			bad = cmp.Or(bad, ended)
		}
	}
	return bad
}

// neverRan reports whether e says that the task could not even be started: asking again
// may help, but not soon.
func neverRan(e *nomad.TaskEvent) bool {
	switch e.Type {
	case nomad.TaskSetupFailure, nomad.TaskDriverFailure, nomad.TaskFailedValidation,
		nomad.TaskArtifactDownloadFailed, "Task hook failed":
		return true
	}
	return false
}

func startDelay(e *nomad.TaskEvent) time.Duration {
	if d, err := strconv.ParseInt(e.Details["start_delay"], 10, 64); err == nil {
		return time.Duration(d)
	}
	return time.Duration(e.StartDelay)
}

// taskWords words an event of a task.
func taskWords(stub *nomad.AllocationListStub, task string, e *nomad.TaskEvent) string {
	what := e.DisplayMessage
	if what == "" {
		what = e.Message
	}
	return strings.TrimSpace(fmt.Sprintf("task %q of allocation %s: %s: %s", task,
		short(stub.ID), strings.ToLower(e.Type), what))
}

// progress says what a placed group is still waiting for.
func progress(alive []*nomad.AllocationListStub) string {
	stub := alive[0]
	for _, name := range slices.Sorted(maps.Keys(stub.TaskStates)) {
		state := stub.TaskStates[name]
		if state == nil || state.State != "pending" || len(state.Events) == 0 {
			continue
		}
		if e := state.Events[len(state.Events)-1]; e != nil {
			return "not running yet: " + taskWords(stub, name, e)
		}
	}
	return fmt.Sprintf("allocation %s is placed but does not run yet", short(stub.ID))
}

// short is how Nomad's command line shows an ID.
func short(id string) string { return id[:min(8, len(id))] }

// missingDrivers is Nomad's word for a node that lacks a driver, or has it but not healthy.
const missingDrivers = "missing drivers"

// placementWords says why no node can take an allocation.
func placementWords(m *nomad.AllocationMetric) string {
	var why []string
	for _, quota := range m.QuotaExhausted {
		why = append(why, "quota exhausted: "+quota)
	}
	why = append(why, counted(m.DimensionExhausted, "%s exhausted on %s")...)
	why = append(why, counted(m.ConstraintFiltered, "constraint %q rules out %s")...)
	if m.ConstraintFiltered[missingDrivers] > 0 {
		why = append(why, "no other node has the driver of each task healthy: see "+
			"`nomad node status -verbose NODE`")
	}
	why = append(why, counted(m.ClassFiltered, "node class %q rules out %s")...)
	if len(why) == 0 && m.NodesEvaluated == 0 {
		why = append(why, "no node is eligible"+poolWords(m))
	}
	if len(why) == 0 {
		why = append(why, fmt.Sprintf("%s looked at, none fits", nodes(m.NodesEvaluated)))
	}
	return strings.Join(why, "; ")
}

func counted(reasons map[string]int, format string) []string {
	var words []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		words = append(words, fmt.Sprintf(format, reason, nodes(reasons[reason])))
	}
	return words
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

func poolWords(m *nomad.AllocationMetric) string {
	dcs := slices.Sorted(maps.Keys(m.NodesAvailable))
	if len(dcs) == 0 {
		return ""
	}
	return " in " + strings.Join(dcs, ", ")
}
