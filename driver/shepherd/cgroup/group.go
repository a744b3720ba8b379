package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Group is one task's cgroups. The zero value has none: it can neither freeze nor limit,
// and everything that would need a cgroup does nothing. It is safe for concurrent use.
type Group struct {
	unified  string
	lent     bool
	legacy   map[string]string
	missing  []string
	still    still
	swapless bool // in v2: no swap is allowed
}

// Open makes the directories that are not there yet and sets the limits. What this machine
// refuses is told by Missing and is no error.
func Open(s Spec) *Group {
	g := &Group{legacy: map[string]string{}}
	if s.Unified != "" && g.made("cgroup v2", s.Unified) {
		g.unified, g.lent = s.Unified, s.Lent
		g.enable(s.Unified)
	}
	for _, controller := range sortedKeys(s.Legacy) {
		dir := s.Legacy[controller]
		if g.made("cgroup "+controller, dir) {
			g.legacy[controller] = dir
		}
		if controller == "cpuset" {
			g.fillCpuset(dir)
		}
	}
	g.limit(s.Limits)
	g.swapless = s.Limits.SwapBytes < 0 && g.legacy["memory"] == "" &&
		exists(g.unified, "memory.swap.max")
	return g
}

// Missing says in words what the machine refused.
func (g *Group) Missing() []string { return g.missing }

func (g *Group) miss(what string, err error) {
	g.missing = append(g.missing, fmt.Sprintf("%s: %v", what, err))
}

func (g *Group) made(what, dir string) bool {
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		g.miss(what, err)
	}
	return err == nil
}

// enable asks for the controllers that limits need, from the top down. A parent that can't
// delegate one shows when the limit is set. One with processes of its own is not asked: it
// has to refuse some, and with the others alone no process could live below it.
//
// Source: kernel admin-guide/cgroup-v2.rst, "No Internal Process Constraint", "Threads".
func (g *Group) enable(dir string) {
	parent := filepath.Dir(dir)
	have := readFields(filepath.Join(parent, "cgroup.controllers"))
	if have == nil {
		return // above the mount
	}
	on := readFields(filepath.Join(parent, "cgroup.subtree_control"))
	var wanted []string
	for _, c := range []string{"cpu", "memory", "pids", "cpuset"} {
		if !slices.Contains(on, c) {
			wanted = append(wanted, c)
		}
	}
	if len(wanted) == 0 {
		return
	}
	g.enable(parent)
	isRoot := !exists(parent, "cgroup.type")
	if !isRoot && len(readFields(filepath.Join(parent, "cgroup.procs"))) > 0 {
		return
	}
	have = readFields(filepath.Join(parent, "cgroup.controllers"))
	for _, c := range wanted {
		if slices.Contains(have, c) {
			_ = write(parent, "cgroup.subtree_control", "+"+c)
		}
	}
}

// fillCpuset gives a new v1 cpuset, and those above it, its parent's CPUs and memory nodes:
// an empty one takes no process.
func (g *Group) fillCpuset(dir string) {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if err := inherit(dir, file); err != nil {
			g.miss("cgroup cpuset", err)
		}
	}
}

// inherit writes into a cgroup's empty file what its parent has there.
func inherit(dir, file string) error {
	own, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil || strings.TrimSpace(string(own)) != "" {
		return nil // above the mount; it has its own
	}
	parent := filepath.Dir(dir)
	if err := inherit(parent, file); err != nil {
		return err
	}
	theirs, err := os.ReadFile(filepath.Join(parent, file))
	if err != nil {
		return err
	}
	return write(dir, file, strings.TrimSpace(string(theirs)))
}

// Directory opens the v2 directory for clone3(2)'s CLONE_INTO_CGROUP; nil where there is
// none.
func (g *Group) Directory() (*os.File, error) {
	if g.unified == "" {
		return nil, nil
	}
	return os.OpenFile(g.unified, os.O_RDONLY|syscall.O_DIRECTORY, 0)
}

// EnterThread moves the calling thread, and with it whatever it starts from now on, into
// the v1 cgroups but the freezer, which Start enters. The goroutine must be locked to its
// thread, and stay so.
func (g *Group) EnterThread() error {
	var errs []error
	for _, controller := range sortedKeys(g.legacy) {
		if controller != "freezer" {
			errs = append(errs, write(g.legacy[controller], "tasks", "0"))
		}
	}
	return errors.Join(errs...)
}

// LeaveThread moves the calling thread out of the v1 cgroups again, to their parents, so
// that they can be removed.
func (g *Group) LeaveThread() error {
	var errs []error
	for _, controller := range sortedKeys(g.legacy) {
		errs = append(errs, write(filepath.Dir(g.legacy[controller]), "tasks", "0"))
	}
	return errors.Join(errs...)
}

// Adopt moves a process into the v2 cgroup, for kernels without CLONE_INTO_CGROUP.
func (g *Group) Adopt(pid int) error {
	if g.unified == "" {
		return nil
	}
	return write(g.unified, "cgroup.procs", fmt.Sprint(pid))
}

// Enter moves this whole process into dirs.
func Enter(dirs []string) error {
	var errs []error
	for _, dir := range dirs {
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = write(dir, "cgroup.procs", "0")
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removeFor is how long Remove waits for the last process to be gone.
const removeFor = 2 * time.Second

// Remove removes the directories; nothing may live in them any more (see Kill).
func (g *Group) Remove() error {
	return Remove(Spec{Unified: g.unified, Lent: g.lent, Legacy: g.legacy})
}

// Remove removes a task's directories, and what the task has made below them.
func Remove(s Spec) error {
	dirs := []string{s.Unified}
	for _, controller := range sortedKeys(s.Legacy) {
		dirs = append(dirs, s.Legacy[controller])
	}
	deadline := time.Now().Add(removeFor)
	var errs []error
	for _, dir := range dirs {
		if dir != "" {
			errs = append(errs, removeTree(dir, deadline))
		}
	}
	if s.Lent {
		errs = append(errs, makeAgain(s.Unified))
	}
	return errors.Join(errs...)
}

// makeAgain makes a directory that was lent, unless who lent it has been faster, or has
// removed it all.
func makeAgain(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeTree removes dir, deepest first. A cgroup stays busy for some milliseconds after
// its last process has been reaped.
func removeTree(dir string, deadline time.Time) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot remove cgroup: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name()), deadline); err != nil {
				return err
			}
		}
	}
	for {
		err := syscall.Rmdir(dir)
		if err == nil || errors.Is(err, syscall.ENOENT) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("cannot remove cgroup %q: %w", dir, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
