package shepherd

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// lean gives back what this process has no use for while nothing happens: garbage, and the
// pages of the program itself that starting has touched. Those are read from the page cache
// again, a few at a time, when they are needed; what has to stay is some hundred KiB.
func lean() error {
	debug.FreeOSMemory()
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("cannot give memory back: %w", err)
	}
	defer maps.Close()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("cannot give memory back: %w", err)
	}
	var errs []error
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		if from, to, ok := unchanging(lines.Text(), self); ok {
			errs = append(errs, unmap(from, to))
		}
	}
	return errors.Join(append(errs, lines.Err())...)
}

// unchanging reports whether a line of proc_pid_maps(5) is about a part of the program that
// is never written to, and where it lies.
func unchanging(line, program string) (from, to uintptr, ok bool) {
	var mode string
	if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil {
		return 0, 0, false
	}
	return from, to, (mode == "r-xp" || mode == "r--p") && strings.HasSuffix(line, " "+program)
}

// unmap drops the pages of a read-only file mapping; they come back when they are touched.
func unmap(from, to uintptr) error {
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
	if errno != 0 {
		return fmt.Errorf("cannot give memory back: %w", errno)
	}
	return nil
}
