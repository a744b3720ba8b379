package driver

import "doze/plugins/drivers"

// checkHanded finds what Nomad hands over that a task of this driver can't have. It sees the
// machine's own files: a device or a mount can be had at its own path only, where it is
// already.
func checkHanded(task drivers.TaskConfig, ps *Problems) {
	const hint = "a task of this driver sees the machine's files as they are; " +
		"use it at its own path"
	for _, d := range task.Devices {
		if d.TaskPath != d.HostPath {
			ps.addAt("device", hint, "%q can't be seen as %q", d.HostPath, d.TaskPath)
		}
	}
	for _, m := range task.Mounts {
		if m.TaskPath != m.HostPath {
			ps.addAt("mount", hint, "%q can't be seen as %q", m.HostPath, m.TaskPath)
		}
	}
}
