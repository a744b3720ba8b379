package wire

// Command is the optional JSON body of POST …/wake and POST …/sleep. The zero value, and no
// body at all, is a command without a reason.
type Command struct {
	// Reason goes into the group's history; at most 200 bytes on one line.
	Reason string `json:"reason,omitempty"`
}

// Outcome answers POST …/wake and POST …/sleep.
type Outcome struct {
	// Group is the group right after the command.
	Group Group `json:"group"`
	// Deadline is the point in time until which the answer would have waited (wake with
	// wait); left out otherwise.
	Deadline Time `json:"deadline,omitzero"`
	// Waited is how long the answer waited; left out without wait.
	Waited Duration `json:"waited,omitzero"`
	// Warnings say what did not work although the command did; left out: nothing.
	Warnings []string `json:"warnings,omitempty"`
}

// LeaseOutcome answers PUT and DELETE …/lease/{name}.
type LeaseOutcome struct {
	// Name is the lease's.
	Name string `json:"name"`
	// Until is the end in force, which is later than the one asked for where a longer lease
	// of that name was there; left out when there is no such lease any more.
	Until Time `json:"until,omitzero"`
	// Dropped says that DELETE ended a lease; false: there was none of that name.
	Dropped bool `json:"dropped,omitempty"`
	// Group is the group right after the change.
	Group Group `json:"group"`
	// Warnings say what did not work although the lease did, e.g. that it could not be
	// saved and will be lost when doze restarts; left out: nothing.
	Warnings []string `json:"warnings,omitempty"`
}
