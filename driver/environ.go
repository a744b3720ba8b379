package driver

import (
	"maps"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"

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

// behindRelay tells an app that listens where Nomad says that it is to listen at its private
// port instead: the shepherd has the other. Where the world reaches the task is still in
// NOMAD_HOST_ADDR_<label>, as in a group with a network of its own. What the job itself says
// of $DOZE_PORT stays.
func behindRelay(env map[string]string, label string) map[string]string {
	out := maps.Clone(env)
	if out == nil {
		out = map[string]string{}
	}
	suffix := strings.Map(func(r rune) rune {
		if isVariable("_" + string(r)) {
			return r
		}
		return '_'
	}, label)
	for prefix, value := range map[string]string{
		"NOMAD_IP_": "127.0.0.1", "NOMAD_PORT_": portVariable,
		"NOMAD_ADDR_": "127.0.0.1:" + portVariable,
	} {
		if !strings.Contains(out[prefix+suffix], "DOZE_PORT") {
			out[prefix+suffix] = value
		}
	}
	return out
}

// portVariable is what the shepherd puts the private port in place of.
const portVariable = "${DOZE_PORT}"

// barePort is the variable without braces: Nomad takes ${DOZE_PORT} in a config block for a
// variable of its own that it does not have, and refuses the block.
var barePort = regexp.MustCompile(`\$DOZE_PORT\b`)

// withPort puts the braces that the shepherd looks for around $DOZE_PORT.
func withPort(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = barePort.ReplaceAllLiteralString(text, portVariable)
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
