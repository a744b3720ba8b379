package idle

// State is where a group is in its lifecycle. Only Machine.Step assigns it.
type State uint8

const (
	Asleep   State = iota // count 0, frozen or parked; left by a request, a command, an observation
	Waking                // asked to run, no target verified yet; left by the first verified target, timeout, error
	Ready                 // requests pass; left by idleness, a command, an observation, lost targets
	Draining              // gate shut, nothing told to the workload; left by a request, or when drained
	Sleeping              // told to sleep, no answer yet; left by the answer
	Failed                // the last wake failed; left by a request after the backoff, a late target, idleness
)
