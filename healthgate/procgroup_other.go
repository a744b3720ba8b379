//go:build !unix

package healthgate

import "os/exec"

// ownGroup does nothing where there are no process groups: the command alone is killed.
func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) error { return nil }
