package driver

import (
	"testing"

	"doze/plugins/drivers"
)

func TestCheckHanded_whatIsElsewhere_isRefusedByName(t *testing.T) {
	task := drivers.TaskConfig{
		Devices: []drivers.Device{{HostPath: "/dev/a", TaskPath: "/dev/a"},
			{HostPath: "/dev/a", TaskPath: "/dev/b"}},
		Mounts: []drivers.Mount{{HostPath: "/lib/x", TaskPath: "/lib/x"},
			{HostPath: "/srv/v", TaskPath: "/data"}},
	}
	var ps Problems
	checkHanded(task, &ps)
	const hint = "; a task of this driver sees the machine's files as they are; " +
		"use it at its own path"
	want := `device: "/dev/a" can't be seen as "/dev/b"` + hint + "\n" +
		`mount: "/srv/v" can't be seen as "/data"` + hint
	if ps.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", ps.Error(), want)
	}
}
