package cgroup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// write writes a value to one of a cgroup's files, which must exist. It goes around package
// os, which takes these files for ones to be waited for where the kernel says EAGAIN.
func write(dir, file, value string) error {
	path := filepath.Join(dir, file)
	err := writeFile(path, []byte(value))
	if err != nil {
		return fmt.Errorf("cannot write %q to %s: %w", value, path, err)
	}
	return nil
}

func writeFile(path string, value []byte) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	// interrupted by the runtime's own signals: setting a limit of v1's may have to reclaim
	for again := true; again; again = errors.Is(err, unix.EINTR) {
		_, err = unix.Write(fd, value)
	}
	return errors.Join(err, unix.Close(fd))
}

// readFields returns the words of a file, nil when it can't be read.
func readFields(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return append([]string{}, strings.Fields(string(text))...)
}

// readNumber returns the number in a file; 0 when it can't be read or is "max".
func readNumber(dir, file string) uint64 {
	if dir == "" {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	return number(strings.TrimSpace(string(text)))
}

// readKeyed returns a file of "name number" lines; nil when it can't be read.
func readKeyed(dir, file string) map[string]uint64 {
	if dir == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil
	}
	return keyed(string(text))
}

// keyed reads lines of "name number".
func keyed(text string) map[string]uint64 {
	fields := strings.Fields(text)
	values := make(map[string]uint64, len(fields)/2)
	for i := 0; i+1 < len(fields); i += 2 {
		values[fields[i]] = number(fields[i+1])
	}
	return values
}

func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func exists(dir, file string) bool {
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
