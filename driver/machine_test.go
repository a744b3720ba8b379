package driver

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"doze/plugins/drivers"
)

// files is a machine with a kernel of the release and with the files and, with a / at the
// end, directories.
func files(release string, paths ...string) fstest.MapFS {
	out := fstest.MapFS{
		"proc/sys/kernel/osrelease": {Data: []byte(release + "\n")},
		"proc/pressure/memory":      {},
	}
	for _, path := range paths {
		path, isDir := strings.CutSuffix(path, "/")
		out[path] = &fstest.MapFile{Data: []byte("cpuset cpu io memory pids\n")}
		if isDir {
			out[path] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		}
	}
	return out
}

const cg = "sys/fs/cgroup/"

func TestSurvey_kindsOfMachines_areToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		files            fstest.MapFS
		cgroups, freezer string
		memory           bool
		problem          string
	}{
		"v2":     {files("6.8.0-41-generic", cg+"cgroup.controllers"), "v2", "v2", true, ""},
		"v2 old": {files("5.1.0", cg+"cgroup.controllers"), "v2", "none", true, "there is no freezer"},
		"hybrid": {files("5.4.0", cg+"unified/cgroup.controllers", cg+"freezer/", cg+"memory/"),
			"hybrid", "v2", true, ""},
		"hybrid old": {files("4.19.0", cg+"unified/cgroup.controllers", cg+"freezer/"),
			"hybrid", "v1", false, ""},
		"v1":              {files("4.4.0", cg+"freezer/", cg+"memory/"), "v1", "v1", true, ""},
		"v1 no freezer":   {files("6.1.0", cg+"cpu/"), "v1", "none", false, "there is no freezer"},
		"none":            {files("6.1.0"), "none", "none", false, "there are no cgroups"},
		"strange release": {files("next", cg+"cgroup.controllers"), "v2", "none", true, "there is no freezer"},
	} {
		m := survey(c.files, 0)
		if m.cgroups != c.cgroups || m.freezer != c.freezer || m.memory != c.memory {
			t.Errorf("%s: got cgroups %s, freezer %s, memory %t", name, m.cgroups, m.freezer, m.memory)
		}
		if got := m.problem(); (c.problem == "") != (got == "") || !strings.Contains(got, c.problem) {
			t.Errorf("%s: the problem is %q, want %q", name, got, c.problem)
		}
	}
}

func TestSurvey_notRoot_isAProblem(t *testing.T) {
	m := survey(files("6.8.0", cg+"cgroup.controllers"), 1000)
	if got := m.problem(); !strings.Contains(got, "does not run as root") {
		t.Errorf("the problem is %q", got)
	}
}

func TestSurvey_lacksWhatIsNotNeeded_isARemark(t *testing.T) {
	m := survey(files("4.19.0", cg+"freezer/"), 0)
	delete(m.files.(fstest.MapFS), "proc/pressure/memory")
	got := survey(m.files, 0).remark()
	for _, want := range []string{"memory is not limited", "/proc/pressure"} {
		if !strings.Contains(got, want) {
			t.Errorf("the remark %q lacks %q", got, want)
		}
	}
}

func TestCgroups_nomadsExist_areUsed(t *testing.T) {
	task := drivers.TaskConfig{ID: "a/web/1"}
	task.Resources.Linux.CgroupPath = "/sys/fs/cgroup/nomad.slice/share.slice/a.web.scope"
	v2 := files("6.8.0", cg+"cgroup.controllers", cg+"nomad.slice/share.slice/a.web.scope/")
	if got := survey(v2, 0).cgroupsOf(task).Unified; got != task.Resources.Linux.CgroupPath {
		t.Errorf("with cgroup v2 the task is put into %q", got)
	}
	task.Resources.Linux.CgroupPath = "/sys/fs/cgroup/cpuset/nomad/share/a.web"
	v1 := files("6.8.0", cg+"unified/cgroup.controllers", cg+"cpu/nomad/a.web/", cg+"pids/",
		cg+"cpuset/nomad/share/a.web/", cg+"freezer/nomad/a.web/")
	got := survey(v1, 0).cgroupsOf(task)
	own := "/doze/" + shortName("a/web/1")
	want := map[string]string{
		"cpu":     "/sys/fs/cgroup/cpu/nomad/a.web",
		"cpuset":  "/sys/fs/cgroup/cpuset/nomad/share/a.web",
		"freezer": "/sys/fs/cgroup/freezer/nomad/a.web",
		"pids":    "/sys/fs/cgroup/pids" + own,
	}
	if !maps.Equal(got.Legacy, want) || got.Unified != "/sys/fs/cgroup/unified"+own {
		t.Errorf("in hybrid mode the task is put into %v and %q", got.Legacy, got.Unified)
	}
}

func TestCgroups_nomadsDoNotExist_areOurs(t *testing.T) {
	task := drivers.TaskConfig{ID: "a/web/1"}
	task.Resources.Linux.CgroupPath = "/sys/fs/cgroup/nomad.slice/share.slice/a.web.scope"
	got := survey(files("6.8.0", cg+"cgroup.controllers"), 0).cgroupsOf(task).Unified
	if want := "/sys/fs/cgroup/doze.slice/" + shortName("a/web/1") + ".scope"; got != want {
		t.Errorf("the task is put into %q, not %q", got, want)
	}
}

func TestLimits_ofNomadsResources_areTheKernels(t *testing.T) {
	r := drivers.Resources{CPUShares: 100, MemoryMB: 64, MemoryMaxMB: 128}
	r.Linux = drivers.LinuxResources{CPUShares: 1, MemoryLimitBytes: 128 << 20, CPUSet: "0-1"}
	got := limitsOf(r)
	if got.CPUShares != 2 || got.MemoryBytes != 128<<20 || got.MemoryReserve != 64<<20 ||
		got.SwapBytes >= 0 || got.Cpuset != "0-1" {
		t.Errorf("got %+v", got)
	}
	if got := limitsOf(drivers.Resources{MemoryMB: 64}); got.MemoryReserve != 0 || got.CPUShares != 0 {
		t.Errorf("without oversubscription got %+v", got)
	}
}
