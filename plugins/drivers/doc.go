// Package drivers says what a Nomad task driver is asked and what it may answer,
// in Go's terms.
//
// It decides which methods a driver has to have (Driver), which are optional
// (the other interfaces: having one is what turns the capability on), and which
// errors Nomad treats specially (Recoverable, ErrTaskNotFound, ErrTaskExited). Tasks
// and EventLog are for embedding: with them most of a Driver is there. It never touches
// the wire: package plugins serves a Driver, package host calls one in another process.
package drivers
