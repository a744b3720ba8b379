package shepherd

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// namespaces are those that a task gets of its own.
const namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC

// settle makes the mounts fit the new namespaces, as far as this machine allows, and says
// what it did not allow. Outside of a pid namespace of its own it leaves them alone.
//
// Mounts stay slaves, so that what the host unmounts does not live on in here.
func settle() []string {
	if os.Getpid() != 1 {
		missing := told("pid, ipc and mount namespaces", unix.EPERM)
		// orphans of the task come to this process all the same
		err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		return append(missing, told("subreaper", err)...)
	}
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
	if err != nil {
		return told("mount namespace", err)
	}
	const safe = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	missing := told("own /proc", unix.Mount("proc", "/proc", "proc", safe, ""))
	return append(missing,
		told("own /dev/shm", unix.Mount("shm", "/dev/shm", "tmpfs", safe, "mode=1777"))...)
}

func told(what string, err error) []string {
	if err == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: %v", what, err)}
}
