package cgroup_test

import (
	"strings"
	"testing"

	"doze/driver/shepherd/cgroup"
)

const (
	mountV2      = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountCPU     = "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	mountFreezer = "32 23 0:28 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
	mountNamed   = "33 23 0:29 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
	mountUnified = "34 23 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	mountOther   = "35 23 8:1 / / rw - ext4 /dev/sda1 rw\n"
)

func TestHierarchy_read_tellsModeAndFreezer(t *testing.T) {
	for text, want := range map[string][2]string{
		"":                                   {"", ""},
		"nonsense\n" + mountOther:            {"", ""},
		mountOther + mountV2:                 {"v2", "v2"},
		mountCPU + mountFreezer + mountNamed: {"v1", "v1"},
		mountCPU:                             {"v1", ""},
		mountCPU + mountUnified:              {"hybrid", "v2"},
		mountNamed + mountUnified:            {"v2", "v2"}, // named hierarchies control nothing
	} {
		h, err := cgroup.Read(strings.NewReader(text))
		if err != nil || string(h.Mode) != want[0] || h.Freezer() != want[1] {
			t.Errorf("%q: mode %q, freezer %q, %v", text, h.Mode, h.Freezer(), err)
		}
	}
}

func TestHierarchy_read_findsTheMounts(t *testing.T) {
	h, err := cgroup.Read(strings.NewReader(mountCPU + mountFreezer + mountUnified))
	if err != nil || h.Unified != "/sys/fs/cgroup/unified" ||
		h.Legacy["cpu"] != "/sys/fs/cgroup/cpu,cpuacct" || h.Legacy["cpuacct"] != h.Legacy["cpu"] {
		t.Errorf("%+v %v", h, err)
	}
}

func FuzzHierarchy_Read(f *testing.F) {
	f.Add(mountV2 + mountCPU)
	f.Add("1 2 3 - - - - -\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := cgroup.Read(strings.NewReader(text))
		if err == nil && (h.Unified != "") != (h.Mode == cgroup.V2 || h.Mode == cgroup.Hybrid) {
			t.Errorf("%+v", h)
		}
	})
}
