package cgroup

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Mode is how a machine mounts its cgroups.
type Mode string

const (
	None   Mode = ""       // not at all
	V1     Mode = "v1"     // a hierarchy per controller
	V2     Mode = "v2"     // one hierarchy
	Hybrid Mode = "hybrid" // controllers in v1, and a v2 hierarchy beside them
)

// Freezer kinds, as Hierarchy.Freezer and Group.Freezer tell them.
const (
	FreezerV2 = "v2"
	FreezerV1 = "v1"
)

// Hierarchy is what a machine has mounted, as far as paths lead to it and it can be written.
type Hierarchy struct {
	Mode    Mode
	Unified string            // mount point of cgroup v2, "" for none
	Offers  []string          // controllers that v2 has there
	Legacy  map[string]string // mount points of v1 by controller
	Kernel  string            // release, as in "6.8.0-41-generic"
}

// Detect looks at this machine. It changes nothing.
func Detect() (Hierarchy, error) { return Survey(os.DirFS("/")) }

// Survey looks at the machine whose files lie below root.
func Survey(root fs.FS) (Hierarchy, error) {
	f, err := root.Open("proc/self/mountinfo")
	if err != nil {
		return Hierarchy{}, fmt.Errorf("cannot detect cgroups: %w", err)
	}
	defer f.Close()
	all, err := readMounts(f)
	if err != nil {
		return Hierarchy{}, fmt.Errorf("cannot detect cgroups: %w", err)
	}
	h := Hierarchy{Legacy: map[string]string{}}
	for _, m := range all {
		if strings.HasPrefix(m.fstype, "cgroup") && !m.readOnly && all.reaches(m) {
			h.add(m)
		}
	}
	h.Mode = h.mode()
	if h.Unified != "" {
		h.Offers = words(root, path.Join(h.Unified, "cgroup.controllers"))
	}
	h.Kernel = strings.Join(words(root, "/proc/sys/kernel/osrelease"), " ")
	return h, nil
}

// words are those of a file that may be missing.
func words(root fs.FS, file string) []string {
	text, err := fs.ReadFile(root, strings.TrimPrefix(file, "/"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

func (h *Hierarchy) add(m mount) {
	switch m.fstype {
	case "cgroup2":
		h.Unified = usual(h.Unified, m.point)
	case "cgroup":
		for name := range strings.SplitSeq(m.options, ",") {
			if useful(name) {
				h.Legacy[name] = usual(h.Legacy[name], m.point)
			}
		}
	}
}

// usual picks one of two mount points of the same hierarchy: where Nomad and everybody else
// looks, else the first.
func usual(first, next string) string {
	const place = "/sys/fs/cgroup"
	if first == "" || inside(next, place) && !inside(first, place) {
		return next
	}
	return first
}

func inside(point, dir string) bool { return point == dir || isBelow(point, dir) }

// useful reports whether a v1 controller is of use here.
func useful(controller string) bool {
	switch controller {
	case "cpu", "cpuacct", "memory", "freezer", "pids", "cpuset":
		return true
	}
	return false
}

func (h *Hierarchy) mode() Mode {
	switch {
	case h.Unified != "" && len(h.Legacy) > 0:
		return Hybrid
	case h.Unified != "":
		return V2
	case len(h.Legacy) > 0:
		return V1
	}
	return None
}

// Has reports whether a controller, like "memory", is there for tasks.
func (h Hierarchy) Has(controller string) bool {
	return h.Legacy[controller] != "" || slices.Contains(h.Offers, controller)
}

// Freezer is the kind of freezer that a task can have, "" for none.
//
// Source: kernel admin-guide/cgroup-v2.rst; cgroup.freeze came with Linux 5.2.
func (h Hierarchy) Freezer() string {
	switch {
	case h.Unified != "" && atLeast(h.Kernel, 5, 2):
		return FreezerV2
	case h.Legacy["freezer"] != "":
		return FreezerV1
	}
	return ""
}

// atLeast reports whether a kernel's release is of a version or newer.
func atLeast(release string, major, minor int) bool {
	first, rest, _ := strings.Cut(release, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(rest)
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}
