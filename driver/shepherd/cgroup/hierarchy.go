package cgroup

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
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

// Freezer kinds, as Hierarchy.Freezer tells them.
const (
	FreezerV2 = "v2"
	FreezerV1 = "v1"
)

// Hierarchy is what a machine has mounted.
type Hierarchy struct {
	Mode    Mode
	Unified string            // mount point of cgroup v2, "" for none
	Legacy  map[string]string // mount points of v1 by controller
}

// Detect reads which cgroups are mounted.
func Detect() (Hierarchy, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return Hierarchy{}, fmt.Errorf("cannot detect cgroups: %w", err)
	}
	defer f.Close()
	return Read(f)
}

// Read reads what is mounted from proc_pid_mountinfo(5). Of several mounts of one hierarchy
// the first counts.
func Read(r io.Reader) (Hierarchy, error) {
	h := Hierarchy{Legacy: map[string]string{}}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		sep := slices.Index(fields, "-")
		if sep < 6 || len(fields) < sep+4 {
			continue
		}
		h.add(fields[4], fields[sep+1], fields[sep+3])
	}
	if err := lines.Err(); err != nil {
		return Hierarchy{}, fmt.Errorf("cannot detect cgroups: %w", err)
	}
	h.Mode = h.mode()
	return h, nil
}

func (h *Hierarchy) add(point, fstype, options string) {
	switch fstype {
	case "cgroup2":
		if h.Unified == "" {
			h.Unified = point
		}
	case "cgroup":
		for name := range strings.SplitSeq(options, ",") {
			if useful(name) && h.Legacy[name] == "" {
				h.Legacy[name] = point
			}
		}
	}
}

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

// Freezer is the kind of freezer that a task can have, "" for none.
func (h Hierarchy) Freezer() string {
	switch {
	case h.Unified != "":
		return FreezerV2
	case h.Legacy["freezer"] != "":
		return FreezerV1
	}
	return ""
}
