package plugins

import (
	"os"
	"strconv"
	"syscall"
)

// keepInherited keeps descriptors to this process that it was started with, besides the usual
// three: an agent that was itself started with some hands them down to all that it starts, and
// a task would have them. Where there is no /proc that stays as it is.
func keepInherited() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
