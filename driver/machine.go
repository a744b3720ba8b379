package driver

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"doze/driver/shepherd/cgroup"
)

// machine is what the driver needs of a machine, as it was found.
type machine struct {
	files   fs.FS // from its root
	uid     int
	cgroups cgroup.Hierarchy
	psi     bool  // the kernel tells of memory pressure
	err     error // why no more is known
}

// survey looks at the machine whose files lie below root. It changes nothing.
func survey(root fs.FS, uid int) machine {
	m := machine{files: root, uid: uid}
	m.cgroups, m.err = cgroup.Survey(root)
	_, err := fs.Stat(root, "proc/pressure/memory")
	m.psi = err == nil
	return m
}

// here looks at this machine.
func here() machine { return survey(os.DirFS("/"), os.Geteuid()) }

// problem says why no task can run on the machine; "": they can.
func (m machine) problem() string {
	switch {
	case m.uid != 0:
		return "the agent does not run as root, which the driver needs for users, cgroups " +
			"and namespaces"
	case m.err != nil:
		return m.err.Error()
	case m.cgroups.Mode == cgroup.None:
		return "no cgroups are mounted that can be written to"
	case m.cgroups.Freezer() == "":
		return fmt.Sprintf("there is no freezer: neither cgroup v2 on a kernel from 5.2 on "+
			"(this one is %s) nor the cgroup v1 controller", m.cgroups.Kernel)
	}
	return ""
}

// remark is what a healthy machine lacks; "": nothing.
func (m machine) remark() string {
	var lacks []string
	if !m.cgroups.Has("memory") {
		lacks = append(lacks, "no memory controller, so memory is not limited")
	}
	if !m.psi {
		lacks = append(lacks, "no /proc/pressure, so pressure parks no frozen task")
	}
	return strings.Join(lacks, "; ")
}

// isDir reports whether there is a directory at an absolute path of the machine.
func (m machine) isDir(path string) bool {
	if path == "" || path == "/" {
		return false
	}
	st, err := fs.Stat(m.files, strings.TrimPrefix(path, "/"))
	return err == nil && st.IsDir()
}
