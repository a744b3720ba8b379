package shepherd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// orphanWait bounds how long a shepherd that was killed may take to end.
const orphanWait = 5 * time.Second

// endOrphans ends the shepherds of a directory that nobody has heard of: whoever launched one
// was killed before it answered. It could still make the task's socket, or take away the
// directory that the next is launched in.
func endOrphans(dir string) error {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err // a malformed pattern: never
	}
	var errs []error
	for _, path := range paths {
		if isShepherd(path, dir) {
			errs = append(errs, endOrphan(path, dir))
		}
	}
	return errors.Join(errs...)
}

// isShepherd reports whether the arguments at the path are those of a shepherd of the
// directory. One that has ended has none.
func isShepherd(path, dir string) bool {
	args, err := os.ReadFile(path)
	return err == nil && string(args) == "doze\x00shepherd\x00"+dir+"\x00"
}

func endOrphan(path, dir string) error {
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
	if err != nil {
		return err // the pattern has only numbers: never
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("cannot find shepherd %d: %w", pid, err)
	}
	defer func() { _ = p.Release() }() // always nil
	if !isShepherd(path, dir) {        // from here on the number stays its own
		return nil
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot end shepherd %d, which nobody has heard of: %w", pid, err)
	}
	for deadline := time.Now().Add(orphanWait); isShepherd(path, dir); {
		if time.Now().After(deadline) {
			return fmt.Errorf("shepherd %d, which nobody has heard of, does not end", pid)
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}
