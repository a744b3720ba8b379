package devnomad

import "syscall"

// ownGroup makes a task lead its own process group and die with its parent.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
