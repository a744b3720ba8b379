// Package idle decides when a group sleeps and wakes: a pure state machine (Machine), the
// activity of a group as atomics (Group), and one Loop that reads the clock, steps the
// machines and carries out what they ask for.
//
// It never talks to Nomad, to a client or to a task; what waking and sleeping mean is a
// Workload's business, and whether a target is ready is package healthgate's.
package idle

//go:generate go test -run TestPage -update .
