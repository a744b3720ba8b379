package driver

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// machine is what the driver needs of a machine, as it was found.
type machine struct {
	files   fs.FS // from its root
	uid     int
	release string // of the kernel
	cgroups string // "v2", "hybrid", "v1" or "none"
	freezer string // "v2", "v1" or "none"
	memory  bool   // there is a controller that limits memory
	psi     bool   // the kernel tells of memory pressure
}

// survey looks at the machine whose files lie below root. It changes nothing.
func survey(root fs.FS, uid int) machine {
	m := machine{files: root, uid: uid, cgroups: "none", freezer: "none"}
	if text, err := fs.ReadFile(root, "proc/sys/kernel/osrelease"); err == nil {
		m.release = strings.TrimSpace(string(text))
	}
	const mount = "sys/fs/cgroup/"
	switch {
	case exists(root, mount+"cgroup.controllers"):
		m.cgroups = "v2"
		m.memory = hasController(root, mount+"cgroup.controllers", "memory")
	case exists(root, mount+"unified/cgroup.controllers"):
		m.cgroups, m.memory = "hybrid", exists(root, mount+"memory")
	case exists(root, mount+"freezer") || exists(root, mount+"cpu"):
		m.cgroups, m.memory = "v1", exists(root, mount+"memory")
	}
	switch {
	case m.cgroups != "v1" && m.cgroups != "none" && atLeast(m.release, 5, 2):
		m.freezer = "v2" // cgroup-v2.rst: cgroup.freeze, since Linux 5.2
	case exists(root, mount+"freezer"):
		m.freezer = "v1"
	}
	m.psi = exists(root, "proc/pressure/memory")
	return m
}

// problem says why no task can run on the machine; "": they can.
func (m machine) problem() string {
	switch {
	case m.uid != 0:
		return "the agent does not run as root, which the driver needs for users, cgroups " +
			"and namespaces"
	case m.cgroups == "none":
		return "there are no cgroups at /sys/fs/cgroup"
	case m.freezer == "none":
		return fmt.Sprintf("there is no freezer: neither cgroup v2 on a kernel from 5.2 on "+
			"(this one is %s) nor the cgroup v1 controller", m.release)
	}
	return ""
}

// remark is what a healthy machine lacks; "": nothing.
func (m machine) remark() string {
	var lacks []string
	if !m.memory {
		lacks = append(lacks, "no memory controller, so memory is not limited")
	}
	if !m.psi {
		lacks = append(lacks, "no /proc/pressure, so pressure parks no frozen task")
	}
	return strings.Join(lacks, "; ")
}

// here looks at this machine.
func here() machine { return survey(os.DirFS("/"), os.Geteuid()) }

func exists(root fs.FS, path string) bool {
	_, err := fs.Stat(root, path)
	return err == nil
}

// isDir reports whether there is a directory at an absolute path of the machine.
func (m machine) isDir(path string) bool {
	if path == "" || path == "/" {
		return false
	}
	st, err := fs.Stat(m.files, strings.TrimPrefix(path, "/"))
	return err == nil && st.IsDir()
}

func hasController(root fs.FS, file, name string) bool {
	text, err := fs.ReadFile(root, file)
	return err == nil && strings.Contains(" "+strings.TrimSpace(string(text))+" ", " "+name+" ")
}

// atLeast reports whether a kernel's release, like "6.8.0-41-generic", is of a version or
// newer.
func atLeast(release string, major, minor int) bool {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	digits := strings.IndexFunc(parts[1], func(r rune) bool { return r < '0' || r > '9' })
	if digits >= 0 {
		parts[1] = parts[1][:digits]
	}
	b, err := strconv.Atoi(parts[1])
	return err == nil && (a > major || a == major && b >= minor)
}
