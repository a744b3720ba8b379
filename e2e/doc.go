// Package e2e holds one file per promise that Doze makes. Each is kept by the real program,
// `doze serve`, in front of real processes, on the embedded cluster and on a real Nomad.
// The tests are built with the tag e2e only: make e2e.
package e2e
