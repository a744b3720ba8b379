package driver

import (
	"io/fs"
	"maps"
	"slices"
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
		"v1":            {files("4.4.0", cg+"freezer/", cg+"memory/"), "v1", "v1", true, ""},
		"v1 no freezer": {files("6.1.0", cg+"cpu/"), "v1", "none", false, "there is no freezer"},
		"none":          {files("6.1.0"), "none", "none", false, "there are no cgroups"},
		"strange release": {files("next", cg+"cgroup.controllers"), "v2", "none", true,
			"there is no freezer"},
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

// web is task web of allocation a, whose cgroup Nomad says is at path.
func web(path string) drivers.TaskConfig {
	task := drivers.TaskConfig{ID: "a/web/1", AllocID: "a", Name: "web"}
	task.Resources.Linux.CgroupPath = path
	return task
}

const scope2 = "/sys/fs/cgroup/nomad.slice/share.slice/a.web.scope"

func TestCgroups_v2AndNomadsExists_itIsUsed(t *testing.T) {
	m := survey(files("6.8.0", cg+"cgroup.controllers", strings.TrimPrefix(scope2, "/")+"/"), 0)
	if got := m.cgroupsOf(web(scope2)).Unified; got != scope2 {
		t.Errorf("the task is put into %q", got)
	}
}

func TestCgroups_v2AndNomadsDoesNotExist_itIsOurs(t *testing.T) {
	m := survey(files("6.8.0", cg+"cgroup.controllers", cg+"nomad.slice/share.slice/"), 0)
	for _, path := range []string{scope2, "", "/sys/fs/cgroup/nomad.slice/share.slice"} {
		got := m.cgroupsOf(web(path)).Unified
		if want := "/sys/fs/cgroup/doze.slice/" + shortName("a/web/1") + ".scope"; got != want {
			t.Errorf("the task is put into %q, not %q", got, want)
		}
	}
}

// In cgroup v1 the path that Nomad gives is the cpuset of all tasks but those with cores of
// their own. Whoever takes it for the task's own kills all others with it.
func TestCgroups_v1SharedCpuset_isEnteredAndNeverTheTasks(t *testing.T) {
	const share = "/sys/fs/cgroup/cpuset/nomad/share"
	m := survey(files("6.8.0", cg+"unified/cgroup.controllers", cg+"cpu/nomad/a.web/", cg+"pids/",
		cg+"cpuset/nomad/share/", cg+"freezer/nomad/a.web/"), 0)
	got := m.cgroupsOf(web(share))
	own := "/doze/" + shortName("a/web/1")
	want := map[string]string{
		"cpu":     "/sys/fs/cgroup/cpu/nomad/a.web",
		"freezer": "/sys/fs/cgroup/freezer/nomad/a.web",
		"pids":    "/sys/fs/cgroup/pids" + own,
	}
	if !maps.Equal(got.Legacy, want) || got.Unified != "/sys/fs/cgroup/unified"+own {
		t.Errorf("the task is put into %v and %q", got.Legacy, got.Unified)
	}
	enters := []string{"/sys/fs/cgroup/unified/doze/shepherds", share}
	if !slices.Equal(got.Shepherd, enters) {
		t.Errorf("the shepherd is put into %q, not %q", got.Shepherd, enters)
	}
}

func TestCgroups_v1CoresOfItsOwn_areTheTasks(t *testing.T) {
	const cores = "/sys/fs/cgroup/cpuset/nomad/reserve/a.web"
	m := survey(files("4.4.0", cg+"cpu/", strings.TrimPrefix(cores, "/")+"/"), 0)
	got := m.cgroupsOf(web(cores))
	if got.Legacy["cpuset"] != cores || len(got.Shepherd) > 0 || got.Unified != "" {
		t.Errorf("got %+v", got)
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
	got = limitsOf(drivers.Resources{MemoryMB: 64})
	if got.MemoryReserve != 0 || got.CPUShares != 0 {
		t.Errorf("without oversubscription got %+v", got)
	}
}
