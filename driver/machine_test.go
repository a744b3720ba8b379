package driver

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"doze/plugins/drivers"
)

// Lines of a mountinfo: where v2 is all there is, and beside v1.
const (
	onlyV2 = "24 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	tmpfs  = "24 1 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
	alsoV2 = tmpfs + "25 24 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

// v1 are the mounts of controllers, each on its own.
func v1(controllers ...string) string {
	var lines strings.Builder
	lines.WriteString(tmpfs)
	for i, c := range controllers {
		fmt.Fprintf(&lines, "%d 24 0:%d / /sys/fs/cgroup/%s rw - cgroup cgroup rw,%[3]s\n",
			30+i, 30+i, c)
	}
	return lines.String()
}

// files is a machine with a kernel of the release, mounts, and directories. Its v2 has all
// controllers.
func files(release, mounts string, dirs ...string) fstest.MapFS {
	controllers := &fstest.MapFile{Data: []byte("cpuset cpu io memory pids\n")}
	out := fstest.MapFS{
		"proc/sys/kernel/osrelease":                {Data: []byte(release + "\n")},
		"proc/pressure/memory":                     {},
		"proc/self/mountinfo":                      {Data: []byte(mounts)},
		"sys/fs/cgroup/cgroup.controllers":         controllers,
		"sys/fs/cgroup/unified/cgroup.controllers": {},
	}
	for _, dir := range dirs {
		out[strings.TrimPrefix(dir, "/")] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	}
	return out
}

func TestSurvey_whatKeepsTasksFromRunning_isTheProblem(t *testing.T) {
	for name, c := range map[string]struct {
		files   fstest.MapFS
		problem string
	}{
		"v2":     {files("6.8.0-41-generic", onlyV2), ""},
		"v2 old": {files("5.1.0", onlyV2), "there is no freezer"},
		"hybrid": {files("4.19.0", alsoV2+v1("freezer", "memory")), ""},
		"v1":     {files("4.4.0", v1("cpu")), "there is no freezer"},
		"none":   {files("6.1.0", tmpfs), "no cgroups are mounted"},
		"read only": {files("6.1.0", strings.Replace(onlyV2, " rw -", " ro -", 1)),
			"no cgroups are mounted that can be written to"},
		"no proc": {fstest.MapFS{}, "cannot detect cgroups"},
	} {
		got := survey(c.files, 0).problem()
		if (c.problem == "") != (got == "") || !strings.Contains(got, c.problem) {
			t.Errorf("%s: the problem is %q, want %q", name, got, c.problem)
		}
	}
}

func TestSurvey_notRoot_isAProblem(t *testing.T) {
	m := survey(files("6.8.0", onlyV2), 1000)
	if got := m.problem(); !strings.Contains(got, "does not run as root") {
		t.Errorf("the problem is %q", got)
	}
}

func TestSurvey_lacksWhatIsNotNeeded_isARemark(t *testing.T) {
	m := files("4.19.0", v1("freezer"))
	delete(m, "proc/pressure/memory")
	got := survey(m, 0).remark()
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
	// somebody else's use of v1 does not matter
	for _, mounts := range []string{onlyV2,
		onlyV2 + "30 24 0:30 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"} {
		m := survey(files("6.8.0", mounts, scope2), 0)
		got := m.cgroupsOf(web(scope2))
		if got.Unified != scope2 || got.Lent || len(got.Shepherd) != 1 {
			t.Errorf("the task is put into %q, its shepherd into %q", got.Unified, got.Shepherd)
		}
	}
}

// Nomad 1.6 waits for it at the next start, and does not make it again.
func TestCgroups_v2AndNomadsIsForAllStarts_itIsGivenBack(t *testing.T) {
	const scope = "/sys/fs/cgroup/nomad.slice/a.web.scope"
	m := survey(files("6.8.0", onlyV2, scope), 0)
	if got := m.cgroupsOf(web(scope)); got.Unified != scope || !got.Lent {
		t.Errorf("got %+v", got)
	}
}

func TestCgroups_v2AndNomadsDoesNotExist_itIsOurs(t *testing.T) {
	const shared = "/sys/fs/cgroup/nomad.slice/share.slice"
	m := survey(files("6.8.0", onlyV2, shared), 0)
	for _, path := range []string{scope2, "", shared} {
		got := m.cgroupsOf(web(path))
		if want := "/sys/fs/cgroup/doze.slice/" + shortName("a/web/1") + ".scope"; got.Unified != want {
			t.Errorf("the task is put into %q, not %q", got.Unified, want)
		}
		if len(got.Legacy) > 0 || len(got.Shepherd) != 1 {
			t.Errorf("there is more: %+v", got)
		}
	}
}

// In cgroup v1 the path that Nomad gives is the cpuset of all tasks but those with cores of
// their own. Whoever takes it for the task's own kills all others with it.
func TestCgroups_v1SharedCpuset_isEnteredAndNeverTheTasks(t *testing.T) {
	const share = "/sys/fs/cgroup/cpuset/nomad/share"
	m := survey(files("6.8.0", v1("cpu", "cpuset", "pids", "freezer")+alsoV2, share,
		"/sys/fs/cgroup/cpu/nomad/a.web", "/sys/fs/cgroup/freezer/nomad/a.web"), 0)
	got := m.cgroupsOf(web(share))
	name := shortName("a/web/1")
	want := map[string]string{
		"cpu":     "/sys/fs/cgroup/cpu/nomad/a.web",
		"freezer": "/sys/fs/cgroup/freezer/nomad/a.web",
		"pids":    "/sys/fs/cgroup/pids/doze/" + name,
	}
	own := "/sys/fs/cgroup/unified/doze.slice/" + name + ".scope"
	if !maps.Equal(got.Legacy, want) || got.Unified != own {
		t.Errorf("the task is put into %v and %q", got.Legacy, got.Unified)
	}
	enters := []string{"/sys/fs/cgroup/unified/doze.slice/shepherds.scope", share}
	if !slices.Equal(got.Shepherd, enters) {
		t.Errorf("the shepherd is put into %q, not %q", got.Shepherd, enters)
	}
}

// Most distributions mount cpu and cpuacct as one; Nomad goes by a link to it.
func TestCgroups_v1MountedTogether_areFoundWhereTheyAre(t *testing.T) {
	const both = "/sys/fs/cgroup/cpu,cpuacct"
	m := survey(files("4.4.0", tmpfs+"30 24 0:30 / "+both+" rw - cgroup cgroup rw,cpu,cpuacct\n",
		both+"/nomad/a.web"), 0)
	got := m.cgroupsOf(web("/sys/fs/cgroup/cpuset/nomad/share"))
	given := both + "/nomad/a.web"
	if want := map[string]string{"cpu": given, "cpuacct": given}; !maps.Equal(got.Legacy, want) {
		t.Errorf("the task is put into %v", got.Legacy)
	}
}

func TestCgroups_v1CoresOfItsOwn_areTheTasks(t *testing.T) {
	const cores = "/sys/fs/cgroup/cpuset/nomad/reserve/a.web"
	m := survey(files("4.4.0", v1("cpu", "cpuset"), cores), 0)
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
