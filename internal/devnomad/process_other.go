//go:build unix && !linux

package devnomad

import "syscall"

// ownGroup makes a task lead its own process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
