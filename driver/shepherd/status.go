package shepherd

import (
	"fmt"
	"time"

	"doze/idle"
)

// Exit is how the application ended.
type Exit struct {
	Code      int    `json:"code"`   // 0 when Signal is set
	Signal    int    `json:"signal"` // 0: it returned
	OOMKilled bool   `json:"oom_killed"`
	Err       string `json:"err"` // why there is no status at all, "" when there is one
	// Note is what the status means where it does not say so itself, "" otherwise.
	Note string `json:"note"`
	// At is when it ended.
	At time.Time `json:"at"`
}

// String is the exit in words.
func (e Exit) String() string {
	switch {
	case e.Err != "":
		return e.Err
	case e.OOMKilled:
		return "killed: out of memory"
	}
	words := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != 0 {
		words = fmt.Sprintf("ended by signal %d", e.Signal)
	}
	if e.Note != "" {
		words += ": " + e.Note
	}
	return words
}

// Status is a snapshot of a task.
type Status struct {
	TaskID  string     `json:"task_id"`
	State   idle.State `json:"state"`
	Depth   idle.Depth `json:"depth"` // of the sleep; else awake
	Since   time.Time  `json:"since"` // of State
	Started time.Time  `json:"started"`
	Wakes   uint64     `json:"wakes"`
	Err     string     `json:"err"` // the last failed wake or sleep, "" when none since
	// Shepherd is the pid of the shepherd itself, as its caller sees it; Pid is the
	// application's as the task sees it, 0 when there is none.
	Shepherd int `json:"-"`
	Pid      int `json:"pid"`
	// Listen is the address that wakes, with the port that was found for :0; Port is what
	// the application was told to listen on, 0 when there is no application.
	Listen string `json:"listen"`
	Port   int    `json:"port"`
	// InFlight are the open connections, with Socket activation as the kernel counts them.
	InFlight int64 `json:"in_flight"`
	Exit     *Exit `json:"exit"` // nil while the task lives
	// Missing says, in words, what this machine would not let the shepherd do: namespaces,
	// the freezer, limits. Empty where the task is as isolated as it was meant to be.
	Missing []string `json:"missing"`
}

// Event is something an operator may want to know of a task. Ordinary sleeps and wakes are
// told sparsely; see Suppressed.
type Event struct {
	Seq     uint64            `json:"seq"`
	At      time.Time         `json:"at"`
	Kind    EventKind         `json:"kind"`
	Message string            `json:"message"`
	Details map[string]string `json:"details"`
	// Suppressed is how many of the same kind were not told before it.
	Suppressed int `json:"suppressed"`
}

// EventKind is what an Event is about.
type EventKind string

const (
	EventStarted EventKind = "started" // the application's process, first or again
	EventReady   EventKind = "ready"   // passed its probe after a wake
	EventFrozen  EventKind = "frozen"
	EventParked  EventKind = "parked"
	EventFailed  EventKind = "failed"  // a wake or a sleep
	EventUnheard EventKind = "unheard" // a signal to a parked task
	EventLog     EventKind = "log"     // could not be written, or can be again
	EventKilled  EventKind = "killed"  // for not ending when told to
	EventLeft    EventKind = "left"    // processes that outlive the application
	EventLimit   EventKind = "limit"   // of processes and threads, reached
	EventOOM     EventKind = "oom"     // the kernel killed for lack of memory
	EventExposed EventKind = "exposed" // less isolated than it was meant to be
	EventExited  EventKind = "exited"
)
