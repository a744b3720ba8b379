//go:build unix

package healthgate

import (
	"errors"
	"os/exec"
	"syscall"
)

// ownGroup has cmd start in a new process group, all of which is killed when its context
// ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
}

func killGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return nil // all of it has ended
	}
	return err
}
