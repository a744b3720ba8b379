package driver

import (
	"path/filepath"
	"strings"

	"doze/driver/shepherd/cgroup"
	"doze/plugins/drivers"
)

// controllersV1 are those of cgroup v1 that every task is put under; cpuset is for those
// that have cores of their own.
func controllersV1() []string { return []string{"cpu", "cpuacct", "freezer", "memory", "pids"} }

// cgroupsOf places a task: in the cgroups that Nomad's client has made for it, so that Nomad
// counts and, in an emergency, kills it there too; else in our own of the same pattern.
func (m machine) cgroupsOf(task drivers.TaskConfig) cgroup.Spec {
	spec := cgroup.Spec{Legacy: m.legacyOf(task), Limits: limitsOf(task.Resources)}
	unified := m.cgroups.Unified
	if unified != "" {
		slice := filepath.Join(unified, "doze.slice")
		spec.Unified = filepath.Join(slice, shortName(task.ID)+".scope")
		spec.Shepherd = []string{filepath.Join(slice, "shepherds.scope")}
	}
	nomads := task.Resources.Linux.CgroupPath
	switch own := isTasksOwn(nomads, task); {
	case !m.isDir(nomads):
	case unified != "" && strings.HasPrefix(nomads, unified+"/"):
		if own {
			spec.Unified, spec.Lent = nomads, isForAllStarts(nomads)
		}
	case m.cgroups.Legacy["cpuset"] == "":
	case own:
		spec.Legacy["cpuset"] = nomads
	default:
		// The cpuset of all tasks without cores of their own: the shepherd enters it, and
		// its task with it. It is nobody's to limit, freeze, kill or remove.
		spec.Shepherd = append(spec.Shepherd, nomads)
	}
	return spec
}

// legacyOf is the task's directory under each v1 controller that the machine has.
func (m machine) legacyOf(task drivers.TaskConfig) map[string]string {
	legacy := map[string]string{}
	for _, controller := range controllersV1() {
		mount := m.cgroups.Legacy[controller]
		if mount == "" {
			continue
		}
		legacy[controller] = filepath.Join(mount, "doze", shortName(task.ID))
		given := filepath.Join(mount, "nomad", task.AllocID+"."+task.Name)
		if task.AllocID != "" && m.isDir(given) {
			legacy[controller] = given
		}
	}
	return legacy
}

// isTasksOwn reports whether a cgroup of Nomad's is for this task alone: its name is the
// allocation's and the task's.
func isTasksOwn(path string, task drivers.TaskConfig) bool {
	name := strings.TrimSuffix(filepath.Base(path), ".scope")
	return task.AllocID != "" && name == task.AllocID+"."+task.Name
}

// isForAllStarts reports whether a cgroup of Nomad's has to be there at the task's next
// start: before 1.7, which puts it into a slice for cores that are shared or reserved, Nomad
// makes it once in an allocation's life, and each start waits for it.
func isForAllStarts(path string) bool {
	slice := filepath.Base(filepath.Dir(path))
	return slice != "share.slice" && slice != "reserve.slice"
}

// limitsOf are the task's limits. Memory is no longer a limit where it can be swapped out.
func limitsOf(r drivers.Resources) cgroup.Limits {
	limits := cgroup.Limits{
		CPUShares:   cpuShares(r.Linux.CPUShares),
		MemoryBytes: max(0, r.Linux.MemoryLimitBytes),
		SwapBytes:   -1,
		Cpuset:      r.Linux.CPUSet,
	}
	if r.MemoryMaxMB > r.MemoryMB {
		limits.MemoryReserve = r.MemoryMB << 20
	}
	return limits
}

// cpuShares keeps a weight within what the kernel takes: 2 to 262144.
func cpuShares(n int64) uint64 {
	if n <= 0 {
		return 0
	}
	return uint64(min(max(n, 2), 262144))
}
