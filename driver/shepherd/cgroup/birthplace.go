package cgroup

import (
	"os"
	"syscall"
)

// Birthplace is cgroups that a process is in from its first instruction on. To move a
// process into one, the kernel waits for a grace period of RCU, ten milliseconds and more.
// Who is born there, and a thread that moves itself, waits for nothing.
type Birthplace struct {
	// Unified is the v2 directory, for clone3(2)'s CLONE_INTO_CGROUP (Linux 5.7); nil: none.
	Unified *os.File
	// Others are those that the process can't be born in. It may be able to Enter them, or to
	// say why not.
	Others []string
	legacy []string
}

// OpenBirthplace makes the directories that are not there yet.
func OpenBirthplace(dirs []string) *Birthplace {
	b := &Birthplace{}
	for _, dir := range dirs {
		err := os.MkdirAll(dir, 0o755)
		switch {
		case err == nil && exists(dir, "tasks"): // in v1 only
			b.legacy = append(b.legacy, dir)
		case err == nil && b.Unified == nil:
			b.Unified, err = os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
		}
		if err != nil {
			b.Others = append(b.Others, dir)
		}
	}
	return b
}

// EnterThread moves the calling thread into the v1 cgroups, and with it whatever it starts
// from now on. The goroutine must be locked to its thread, which stays there.
func (b *Birthplace) EnterThread() {
	for _, dir := range b.legacy {
		if write(dir, "tasks", "0") != nil {
			b.Others = append(b.Others, dir)
		}
	}
	b.legacy = nil
}

// LeaveUnified makes the v2 directory one of the Others.
func (b *Birthplace) LeaveUnified() {
	b.Others = append(b.Others, b.Unified.Name())
	b.Close()
}

// LeaveKilled is for when whoever was born in the v2 cgroup was killed at once. On Linux 6.18
// that is what becomes of them where cgroup.kill was used on one of it and its parent's and
// not on the other. The directory is made anew, by Enter, where nobody lives in it.
func (b *Birthplace) LeaveKilled() {
	_ = os.Remove(b.Unified.Name())
	b.LeaveUnified()
}

// Close closes the directory.
func (b *Birthplace) Close() {
	if b.Unified != nil {
		_ = b.Unified.Close() // nothing was written through it
		b.Unified = nil
	}
}
