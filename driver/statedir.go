package driver

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// stateDirProblem says what keeps shepherds from having their directories in dir; "": nothing.
func stateDirProblem(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return "cannot look at state_dir: " + err.Error()
	}
	switch {
	case info.Mode().Perm()&0o022 != 0:
		return "state_dir " + dir + " can be written to by others than its owner"
	case errors.Is(unix.Access(dir, unix.W_OK), unix.EROFS):
		return "state_dir " + dir + " is on a file system that is read-only"
	case isFull(dir):
		return "state_dir " + dir + " is full"
	}
	return ""
}

// isFull reports whether no directory can be made in dir. One in a tmpfs takes no block.
func isFull(dir string) bool {
	var system unix.Statfs_t
	if unix.Statfs(dir, &system) != nil {
		return false // whoever writes there will hear
	}
	noBlocks := system.Blocks > 0 && system.Bavail == 0 && system.Type != unix.TMPFS_MAGIC
	return noBlocks || system.Files > 0 && system.Ffree == 0
}

// withStateDir adds to the error of a start what is wrong with the directory.
func (c AgentConfig) withStateDir(err error) error {
	if problem := stateDirProblem(c.StateDir); problem != "" {
		return fmt.Errorf("%w; %s", err, problem)
	}
	return err
}
