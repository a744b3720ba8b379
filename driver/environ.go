package driver

import (
	"maps"
	"os"
	"os/user"
	"slices"

	"doze/plugins/drivers"
)

// environ returns a task's environment, sorted, as the kernel takes it: what Nomad gives
// and what devices add. Nomad copies its agent's own environment into it; who the agent's
// user is does not hold for the task, so that much is put right.
func environ(task drivers.TaskConfig, as *user.User) []string {
	env := maps.Clone(task.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, task.DeviceEnv)
	own := map[string]string{"HOME": task.TaskDir(), "USER": as.Username, "LOGNAME": as.Username}
	for name, value := range own {
		if inherited(env, name) {
			env[name] = value
		}
	}
	for _, name := range pluginVariables() {
		if inherited(env, name) {
			delete(env, name)
		}
	}
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// inherited reports whether a variable is not the job's: it is not set at all, or to what
// the agent has handed down to this process too.
func inherited(env map[string]string, name string) bool {
	value, set := env[name]
	return !set || value == os.Getenv(name)
}

// pluginVariables are what an agent tells its plugins; a task that got them would take
// itself for one.
func pluginVariables() []string {
	return []string{"NOMAD_PLUGIN_MAGIC_COOKIE", "PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT",
		"PLUGIN_PROTOCOL_VERSIONS"}
}
