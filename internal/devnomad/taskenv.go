package devnomad

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// spec makes what the driver gets: the environment and the interpolated config.
func (t *taskRun) spec() TaskSpec {
	a, dir := t.r.placed, t.r.dir()
	env := taskEnv(t.r.c.node, a, t.task, dir)
	logs := filepath.Join(dir, "alloc", "logs", t.task.Name)
	return TaskSpec{
		ID: a.ID + "/" + t.task.Name + "/" + newID()[:8], AllocID: a.ID, Namespace: a.Namespace,
		JobID: a.JobID, Group: a.TaskGroup, Name: t.task.Name, Driver: t.task.Driver, User: t.task.User,
		Config: interpolateAll(t.r.c.node, env, t.task.Config), Env: env,
		Ports:    a.AllocatedResources.Shared.Ports,
		AllocDir: dir, Dir: filepath.Join(dir, t.task.Name),
		Stdout: logs + ".stdout.0", Stderr: logs + ".stderr.0",
		NoLogs: t.task.LogConfig != nil && deref(t.task.LogConfig.Disabled),
		CPU:    deref(t.task.Resources.CPU), MemoryMB: deref(t.task.Resources.MemoryMB),
		Event: t.noteDriver,
	}
}

// taskEnv is what Nomad adds to a task's environment.
func taskEnv(n *node, a *nomad.Allocation, t *nomad.Task, dir string) map[string]string {
	env := map[string]string{
		"NOMAD_ALLOC_ID": a.ID, "NOMAD_SHORT_ALLOC_ID": a.ID[:8], "NOMAD_ALLOC_NAME": a.Name,
		"NOMAD_ALLOC_INDEX": strconv.Itoa(allocIndex(a)), "NOMAD_TASK_NAME": t.Name,
		"NOMAD_GROUP_NAME": a.TaskGroup, "NOMAD_JOB_ID": a.JobID, "NOMAD_JOB_NAME": *a.Job.Name,
		"NOMAD_NAMESPACE": a.Namespace, "NOMAD_REGION": n.region, "NOMAD_DC": n.datacenter,
		"NOMAD_CPU_LIMIT":    strconv.Itoa(deref(t.Resources.CPU)),
		"NOMAD_MEMORY_LIMIT": strconv.Itoa(deref(t.Resources.MemoryMB)),
		"NOMAD_ALLOC_DIR":    filepath.Join(dir, "alloc"),
		"NOMAD_TASK_DIR":     filepath.Join(dir, t.Name, "local"),
		"NOMAD_SECRETS_DIR":  filepath.Join(dir, t.Name, "secrets"),
		"NOMAD_ALLOC_ADDR":   n.address,
	}
	for _, p := range a.AllocatedResources.Shared.Ports {
		label, value, inside := envName(p.Label), strconv.Itoa(p.Value), p.Value
		if p.To > 0 {
			inside = p.To
		}
		env["NOMAD_IP_"+label], env["NOMAD_HOST_IP_"+label] = p.HostIP, p.HostIP
		env["NOMAD_PORT_"+label] = strconv.Itoa(inside)
		env["NOMAD_HOST_PORT_"+label] = value
		env["NOMAD_ADDR_"+label] = p.HostIP + ":" + value
		env["NOMAD_HOST_ADDR_"+label] = p.HostIP + ":" + value
		env["NOMAD_ALLOC_PORT_"+label] = strconv.Itoa(inside)
	}
	g := groupOf(a.Job, a.TaskGroup)
	for _, meta := range []map[string]string{a.Job.Meta, g.Meta, t.Meta} {
		for k, v := range meta {
			env["NOMAD_META_"+envName(k)] = v
			env["NOMAD_META_"+strings.ToUpper(envName(k))] = v
		}
	}
	own := map[string]string{}
	for k, v := range t.Env {
		own[k] = interpolate(n, env, v)
	}
	maps.Copy(env, own)
	return env
}

var notEnvName = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// envName makes a label fit for a variable's name.
func envName(s string) string { return notEnvName.ReplaceAllString(s, "_") }

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// interpolate replaces ${NAME}, ${env["NAME"]}, ${node.x} and ${attr.x}; what it
// does not know stays.
func interpolate(n *node, env map[string]string, s string) string {
	return reference.ReplaceAllStringFunc(s, func(ref string) string {
		name := strings.TrimSpace(ref[2 : len(ref)-1])
		if inner, ok := strings.CutPrefix(name, `env["`); ok {
			name = strings.TrimSuffix(inner, `"]`)
		}
		if v, ok := env[name]; ok {
			return v
		}
		if v, ok := n.lookup(name); ok {
			return v
		}
		return ref
	})
}

// interpolateAll does so for every string in a config block.
func interpolateAll(n *node, env map[string]string, config map[string]any) map[string]any {
	out := make(map[string]any, len(config))
	for k, v := range config {
		out[k] = interpolateAny(n, env, v)
	}
	return out
}

func interpolateAny(n *node, env map[string]string, v any) any {
	switch v := v.(type) {
	case string:
		return interpolate(n, env, v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = interpolateAny(n, env, v[i])
		}
		return out
	case map[string]any:
		return interpolateAll(n, env, v)
	}
	return v
}

// environ is the environment of a real process: the host's, without what
// belongs to the cluster's own process, and the task's.
func environ(env map[string]string) []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if _, own := env[name]; own || strings.HasPrefix(name, "NOMAD_") || secretNames[name] {
			continue
		}
		out = append(out, kv)
	}
	for k, v := range env {
		out = append(out, fmt.Sprintf("%s=%s", k, v))
	}
	return out
}

// secretNames are on Nomad's own env denylist.
var secretNames = map[string]bool{
	"CONSUL_TOKEN": true, "CONSUL_HTTP_TOKEN": true, "VAULT_TOKEN": true,
	"AWS_ACCESS_KEY_ID": true, "AWS_SECRET_ACCESS_KEY": true, "AWS_SESSION_TOKEN": true,
	"GOOGLE_APPLICATION_CREDENTIALS": true,
}
