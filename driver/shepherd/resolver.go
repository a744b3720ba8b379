package shepherd

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// resolvConf is where the C library, and everybody else, looks.
const resolvConf = "/etc/resolv.conf"

// mountResolver lets the task see the resolv.conf of its spec in place of the machine's, for
// reading, in the mount namespace that the task has of its own.
func (s *Spec) mountResolver() error {
	if s.Resolver == "" {
		return nil
	}
	if err := bindText(s.Resolver, resolvConf); err != nil {
		return fmt.Errorf("cannot give the task the name servers of its dns block: %w", err)
	}
	return nil
}

// bindText mounts a file with this text over path. The file lies in the task's own /dev/shm
// and has no name once it is mounted: nothing is on a disk, and nothing is left.
func bindText(text, path string) error {
	if os.Getpid() != 1 {
		return errors.New("it has no mount namespace of its own on this machine")
	}
	file, err := os.CreateTemp("/dev/shm", "")
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = unix.Mount(file.Name(), path, "", unix.MS_BIND, "")
	}
	if err := errors.Join(err, os.Remove(file.Name())); err != nil {
		return err
	}
	const flags = unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY |
		unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	return unix.Mount("", path, "", flags, "")
}
