package wire

// Group is one managed group as GET /v1/groups lists it.
type Group struct {
	ID
	// State is where the group is in its lifecycle.
	State State `json:"state"`
	// Depth is how deep it sleeps; left out while it is awake.
	Depth Depth `json:"depth,omitempty"`
	// Since is when State was entered.
	Since Time `json:"since,omitzero"`
	// Why says in words why the group is in this state: what keeps it awake, why it
	// sleeps, why its wake failed.
	Why string `json:"why"`
	// Generation is the number of the current or last wake; 0: never woken.
	Generation uint64 `json:"generation"`
	// InFlight counts the requests that are held or being served.
	InFlight int64 `json:"in_flight"`
	// LastActivity is when the last request ended; left out: none since the group was
	// found.
	LastActivity Time `json:"last_activity,omitzero"`
	// SleepsAt is when the group will fall asleep if nothing happens; left out: not
	// planned.
	SleepsAt Time `json:"sleeps_at,omitzero"`
	// RetryAt is when the next wake of a failed group may be tried; left out otherwise.
	RetryAt Time `json:"retry_at,omitzero"`
	// Leases are the keep-awake leases in force, by name; empty: none.
	Leases []Lease `json:"leases"`
	// Wakes counts the wakes since doze has known the group.
	Wakes uint64 `json:"wakes"`
	// LastWake is the record of the current or last wake; left out: none yet.
	LastWake *Wake `json:"last_wake,omitempty"`
	// Error is the last failure in the operator's words; left out: none since the last
	// success.
	Error string `json:"error,omitempty"`
	// Diagnostics are what is wrong with the group's policy; empty: nothing.
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// GroupList answers GET /v1/groups.
type GroupList struct {
	// Groups are the managed groups that the caller may read, ordered by namespace, job
	// and group; empty: none.
	Groups []Group `json:"groups"`
	// LastEventID is a position in the event stream that is not newer than the list: to
	// follow on without a gap, give it as Last-Event-ID to GET /v1/events.
	LastEventID string `json:"last_event_id"`
}

// GroupDetail answers GET /v1/groups/{namespace}/{job}/{group}.
type GroupDetail struct {
	Group
	// Targets are the addresses that can serve the group; empty while it sleeps.
	Targets []Target `json:"targets"`
	// History are the last changes of state, oldest first; at most eight.
	History []Transition `json:"history"`
}

// Target is one allocation's address that can serve a group.
type Target struct {
	// ID names the target, e.g. a Nomad allocation ID.
	ID string `json:"id"`
	// Addr is what is dialled, host:port.
	Addr string `json:"addr"`
	// Admitted says that requests may go to it.
	Admitted bool `json:"admitted"`
	// Verdict is the last probe's.
	Verdict Verdict `json:"verdict"`
	// Error is the last probe's error; left out when it passed.
	Error string `json:"error,omitempty"`
	// Since is when Admitted last changed.
	Since Time `json:"since,omitzero"`
	// InFlight counts the requests it is serving.
	InFlight int64 `json:"in_flight"`
	// Generation is the wake in which it came.
	Generation uint64 `json:"generation"`
}

// Lease keeps a group awake until a point in time.
type Lease struct {
	// Name tells leases of one group apart.
	Name string `json:"name"`
	// Until is when it ends.
	Until Time `json:"until"`
}
