package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Alarm tells when a task may have run into one of its limits.
type Alarm struct{ events *os.File }

// OpenAlarm returns nil where the kernel tells nobody: in cgroup v1 (cgroup-v2.rst has
// pids.events and memory.events told to inotify).
func (g *Group) OpenAlarm() (*Alarm, error) {
	var files []string
	for _, file := range []string{"pids.events", "memory.events"} {
		if exists(g.unified, file) {
			files = append(files, filepath.Join(g.unified, file))
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("cannot watch the task's limits: %w", err)
	}
	a := &Alarm{events: os.NewFile(uintptr(fd), "inotify")}
	for _, file := range files {
		if _, err := unix.InotifyAddWatch(fd, file, unix.IN_MODIFY); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot watch %s: %w", file, err), a.Close())
		}
	}
	return a, nil
}

// Wait waits for the next alarm. The error is for after Close.
func (a *Alarm) Wait() error {
	var news [4096]byte // what they say is in the files
	_, err := a.events.Read(news[:])
	return err
}

// Close ends Wait.
func (a *Alarm) Close() error { return a.events.Close() }

// ForksRefused is how often the limit of processes and threads has kept the task from
// starting one.
func (g *Group) ForksRefused() uint64 {
	dir := g.legacy["pids"]
	if dir == "" {
		dir = g.unified
	}
	return readKeyed(dir, "pids.events")["max"]
}
