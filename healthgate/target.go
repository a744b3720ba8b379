package healthgate

import "sync/atomic"

// Generation numbers the wakes of one group, starting at 1; 0 means "never woken".
// A result that carries an older generation than the current one is dropped.
type Generation uint64

// Target is one address that can serve a group.
type Target struct {
	// ID names the target within its group, e.g. a Nomad allocation ID. Required.
	ID string
	// Addr is what is dialled: host:port. Required.
	Addr string
}

// Member is a Target inside a Gate. It is the same pointer from the target's entry until
// it leaves the gate or the gate is armed anew, so it can key a connection pool.
type Member struct {
	Target
	// Generation is the wake that the member entered in.
	Generation Generation
	// InFlight counts the requests the target is serving. The request path adds and
	// subtracts; Gate.Pick compares.
	InFlight atomic.Int64

	errs atomic.Int32 // errors reported in a row; see Gate.Report
}
