package driver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"doze/plugins/host"
)

// coveredDirs are those in which programs of the machine leave something. Others do so all the
// time: a plugin that stands apart sees an empty one in their place.
func coveredDirs() []string {
	return []string{"/run", "/sys/fs/cgroup", "/dev/shm", "/var/tmp", "/var/lib", "/var/log"}
}

// apartArg makes the test binary a program that stands apart; see standApart.
const apartArg = "apart"

// apart has a plugin stand apart. Only root can; who is not can make no cgroups either.
func apart(t *testing.T, c host.Command) host.Command {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("NOT ROOT: what the plugin makes in the machine's directories is not looked at")
		return c
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.Args, c.Path = []string{apartArg, c.Path}, self
	return c
}

// standApart becomes a program that sees the covered directories empty, and returns why it
// could not. The thread whose mounts they are becomes the whole process.
func standApart(program string) error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("cannot have mounts of its own: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot keep its mounts to itself: %w", err)
	}
	for _, dir := range coveredDirs() {
		err := unix.Mount("tmpfs", dir, "tmpfs", 0, "")
		if err != nil && !errors.Is(err, unix.ENOENT) { // not every machine has them all
			return fmt.Errorf("cannot cover %s: %w", dir, err)
		}
	}
	return syscall.Exec(program, []string{program}, os.Environ())
}

// made is what lies in the covered directories of a process.
func made(t *testing.T, pid int) (paths []string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil // see apart
	}
	for _, dir := range coveredDirs() {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/root%s", pid, dir))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, e := range entries {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}
