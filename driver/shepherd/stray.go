package shepherd

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeStrays closes the descriptors that this process was given besides those up to last: an
// agent that was started with some hands them down to all that it starts. A task must not
// have them, and a shepherd would keep them open for as long as it lives. What this process
// has opened itself is told from them by FD_CLOEXEC: Go sets it on everything.
func closeStrays(last int) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("cannot see what was inherited: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= last {
			continue
		}
		// One that fails is closed already: it was the one that listed them.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		if err := unix.Close(fd); err != nil {
			errs = append(errs, fmt.Errorf("cannot close inherited descriptor %d: %w", fd, err))
		}
	}
	return errors.Join(errs...)
}
