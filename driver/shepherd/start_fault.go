package shepherd

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawn starts a program in the task, and says why it can't be.
func (t *task) spawn(c command) (*process, error) {
	p, err := t.spawner.start(c)
	if err != nil {
		return nil, startFault(c, t.spawner.cred, err)
	}
	return p, nil
}

// startFault adds to the kernel's reason, which is often about something else than the
// program that it names, what whoever runs the task can do something about.
func startFault(c command, as *syscall.Credential, err error) error {
	why := ""
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		why = "it is empty, made for another kind of machine, " +
			"or a script without a first line like #!/bin/sh"
	case errors.Is(err, syscall.ENOENT):
		why = whatIsMissing(c)
	case errors.Is(err, syscall.EACCES) && as != nil:
		why = barrier(c.path, as)
	case errors.Is(err, syscall.E2BIG):
		why = "its arguments and its environment are too long"
	}
	if why == "" {
		return fmt.Errorf("cannot %w", err)
	}
	return fmt.Errorf("cannot %w: %s", err, why)
}

// whatIsMissing is what a program needs that is not there.
func whatIsMissing(c command) string {
	if !isThere(c.dir) {
		return fmt.Sprintf("the task's directory %q is gone", c.dir)
	}
	if !isThere(c.path) {
		return "it is gone"
	}
	if interpreter := interpreterOf(c.path); interpreter != "" {
		return fmt.Sprintf("its first line asks for %q, which is not there", interpreter)
	}
	return "the loader that it is linked with is not there; it was built for another system"
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// interpreterOf is the program that a script's first line names; "" where it names none.
func interpreterOf(path string) string {
	// The task may have put something else there by now: a pipe would hold the shepherd up.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	const longest = 256 // of a first line that the kernel reads
	line, _ := bufio.NewReaderSize(file, longest).ReadSlice('\n')
	words, is := strings.CutPrefix(string(line), "#!")
	if fields := strings.Fields(words); is && len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// barrier is what keeps a user from executing a program.
func barrier(path string, as *syscall.Credential) string {
	for _, dir := range above(path) {
		if mode, may := mayExecute(dir, as); !may {
			return fmt.Sprintf("user %d may not pass through %q (mode %#o)", as.Uid, dir, mode)
		}
	}
	if mode, may := mayExecute(path, as); !may {
		return fmt.Sprintf("user %d may not execute it (mode %#o)", as.Uid, mode)
	}
	var system unix.Statfs_t
	if unix.Statfs(path, &system) == nil && system.Flags&unix.ST_NOEXEC != 0 {
		return "it is on a file system that is mounted noexec"
	}
	return ""
}

// above are the directories on the way to path, from the root down.
func above(path string) []string {
	var dirs []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == filepath.Dir(dir) {
			slices.Reverse(dirs)
			return dirs
		}
	}
}

// mayExecute reports what the mode bits of path allow, as path_resolution(7) says. What
// can't be looked at is somebody else's to complain about.
func mayExecute(path string, as *syscall.Credential) (fs.FileMode, bool) {
	info, err := os.Stat(path)
	if err != nil || as.Uid == 0 {
		return 0, true
	}
	owner, mode := info.Sys().(*syscall.Stat_t), info.Mode().Perm()
	switch {
	case owner.Uid == as.Uid:
		return mode, mode&0o100 != 0
	case owner.Gid == as.Gid || slices.Contains(as.Groups, owner.Gid):
		return mode, mode&0o010 != 0
	}
	return mode, mode&0o001 != 0
}
