package cgroup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"doze/driver/shepherd/cgroup"
)

const (
	mountOther   = "23 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	mountV2      = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountTmpfs   = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - tmpfs tmpfs rw\n"
	mountCPU     = "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	mountFreezer = "32 30 0:28 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
	mountNamed   = "33 30 0:29 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
	mountUnified = "34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

// machine is one with mounts and a kernel.
func machine(mounts, kernel string) fstest.MapFS {
	return fstest.MapFS{
		"proc/self/mountinfo":       {Data: []byte(mounts)},
		"proc/sys/kernel/osrelease": {Data: []byte(kernel + "\n")},
	}
}

func survey(t *testing.T, m fstest.MapFS) cgroup.Hierarchy {
	t.Helper()
	h, err := cgroup.Survey(m)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHierarchy_survey_tellsModeAndFreezer(t *testing.T) {
	for _, c := range []struct{ mounts, kernel, mode, freezer string }{
		{"", "6.8.0", "", ""},
		{"nonsense\nx y 8:1 / / rw - ext4 a rw\n" + mountOther, "6.8.0", "", ""},
		{mountOther + mountV2, "6.8.0-41-generic", "v2", "v2"},
		{mountV2, "5.2-rc1", "v2", "v2"},
		{mountV2, "5.1.21", "v2", ""},
		{mountV2, "next", "v2", ""},
		{mountTmpfs + mountCPU + mountFreezer + mountNamed, "4.4.0", "v1", "v1"},
		{mountTmpfs + mountCPU, "6.1.0", "v1", ""},
		{mountTmpfs + mountCPU + mountUnified, "6.1.0", "hybrid", "v2"},
		{mountTmpfs + mountFreezer + mountUnified, "4.19.0", "hybrid", "v1"},
		{mountNamed + mountUnified, "6.1.0", "v2", "v2"}, // named hierarchies control nothing
	} {
		h := survey(t, machine(c.mounts, c.kernel))
		if string(h.Mode) != c.mode || h.Freezer() != c.freezer {
			t.Errorf("%q on %s: mode %q, freezer %q", c.mounts, c.kernel, h.Mode, h.Freezer())
		}
	}
}

func TestHierarchy_survey_findsTheMounts(t *testing.T) {
	h := survey(t, machine(mountTmpfs+mountCPU+mountFreezer+mountUnified, "6.1.0"))
	if h.Unified != "/sys/fs/cgroup/unified" || h.Has("pids") || !h.Has("cpuacct") ||
		h.Legacy["cpu"] != "/sys/fs/cgroup/cpu,cpuacct" || h.Legacy["cpuacct"] != h.Legacy["cpu"] {
		t.Errorf("%+v", h)
	}
	h = survey(t, machine(`40 23 0:26 / /mnt/c\040g rw - cgroup2 none rw`, "6.1.0"))
	if h.Unified != "/mnt/c g" {
		t.Errorf("%+v", h)
	}
}

func TestHierarchy_survey_tellsWhatV2Offers(t *testing.T) {
	m := machine(mountV2, "6.1.0")
	m["sys/fs/cgroup/cgroup.controllers"] = &fstest.MapFile{Data: []byte("cpu memory\n")}
	h := survey(t, m)
	if !slices.Equal(h.Offers, []string{"cpu", "memory"}) || !h.Has("memory") || h.Has("pids") {
		t.Errorf("%+v", h)
	}
}

// What a path does not lead to is of no use, whatever the order of the lines.
func TestHierarchy_survey_passesOverWhatIsHidden(t *testing.T) {
	const (
		over  = "50 30 0:40 / /sys/fs/cgroup rw - cgroup2 none rw\n" // on the tmpfs's root
		sys   = "60 23 0:50 / /sys rw - sysfs sysfs rw\n"            // hides all below
		first = "70 23 0:26 / /mnt/cgroup rw - cgroup2 none rw\n"
		ro    = "80 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 none rw\n"
	)
	for _, c := range []struct{ mounts, unified, freezer string }{
		{mountOther + mountTmpfs + mountFreezer + over, "/sys/fs/cgroup", ""},
		{over + mountFreezer + mountTmpfs + mountOther, "/sys/fs/cgroup", ""},
		{mountTmpfs + mountFreezer + mountUnified + sys + mountOther, "", ""},
		{mountTmpfs + mountFreezer + mountOther, "", "/sys/fs/cgroup/freezer"},
		{first + mountV2 + mountOther, "/sys/fs/cgroup", ""}, // where Nomad looks
		{mountV2 + first + mountOther, "/sys/fs/cgroup", ""},
		{first + ro, "/mnt/cgroup", ""},
	} {
		h := survey(t, machine(c.mounts, "6.1.0"))
		if h.Unified != c.unified || h.Legacy["freezer"] != c.freezer {
			t.Errorf("%q: %q and %q", c.mounts, h.Unified, h.Legacy["freezer"])
		}
	}
}

func TestHierarchy_withoutProc_isAnError(t *testing.T) {
	if h, err := cgroup.Survey(fstest.MapFS{}); err == nil {
		t.Errorf("%+v", h)
	}
}

func FuzzHierarchy_Survey(f *testing.F) {
	f.Add(mountV2+mountCPU, "6.1.0")
	f.Add("1 2 3 - - - - -\n", "")
	f.Add("1 2 8:1 / /a rw - tmpfs t rw\n2 1 8:1 / / rw - cgroup2 c rw\n", "5")
	f.Fuzz(func(t *testing.T, mounts, kernel string) {
		h, err := cgroup.Survey(machine(mounts, kernel))
		if err == nil && (h.Unified != "") != (h.Mode == cgroup.V2 || h.Mode == cgroup.Hybrid) {
			t.Errorf("%+v", h)
		}
	})
}

// BenchmarkSurvey is what every start of a task pays, on a node with as many mounts.
func BenchmarkSurvey(b *testing.B) {
	for _, n := range []int{20, 300, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var mounts strings.Builder
			mounts.WriteString(mountOther + mountTmpfs + mountCPU + mountFreezer + mountUnified)
			for i := range n {
				fmt.Fprintf(&mounts, "%d 23 0:%d / /var/lib/x/%d/merged rw shared:9 - overlay o rw\n",
					100+i, 100+i, i)
			}
			m := fstest.MapFS{
				"proc/self/mountinfo":       {Data: []byte(mounts.String())},
				"proc/sys/kernel/osrelease": {Data: []byte("6.1.0\n")},
			}
			for b.Loop() {
				if _, err := cgroup.Survey(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
