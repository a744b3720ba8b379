package drivertest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"doze/plugins/drivers"
	"doze/plugins/host"
)

// Task is a task to start, with the directories and log fifos that an agent makes
// before it does, and what has come out of the fifos.
type Task struct {
	drivers.TaskConfig
	Stdout, Stderr *Log

	handle drivers.Handle // where a test needs one that the agent does not have any more
}

// NewTask prepares a task with a `config` block, in a directory of the test's. Two
// tasks of one name share nothing.
func (a *Agent) NewTask(name string, config map[string]any) *Task {
	a.t.Helper()
	dir := a.t.TempDir()
	task := &Task{TaskConfig: drivers.TaskConfig{
		Name: name, JobID: "job", JobName: "job", Group: "group", Namespace: "default",
		AllocID: fmt.Sprintf("%08x-0000-4000-8000-%012x", rand.Uint32(), rand.Uint64()>>16),
		NodeID:  "node", NodeName: "node", AllocDir: dir,
		Resources: drivers.Resources{CPUShares: 100, MemoryMB: 64,
			Linux: drivers.LinuxResources{CPUShares: 100, MemoryLimitBytes: 64 << 20}},
	}}
	task.newID()
	a.mark(dir)
	logs := filepath.Join(dir, "alloc", "logs")
	for _, sub := range []string{logs, filepath.Join(dir, name, "local"),
		filepath.Join(dir, name, "secrets"), filepath.Join(dir, name, "tmp")} {
		a.must("make the task's directory", os.MkdirAll(sub, 0o755))
	}
	task.StdoutPath = filepath.Join(logs, "."+name+".stdout.fifo")
	task.StderrPath = filepath.Join(logs, "."+name+".stderr.fifo")
	task.Stdout, task.Stderr = newLog(a.t, task.StdoutPath), newLog(a.t, task.StderrPath)
	task.Env = map[string]string{"NOMAD_ALLOC_DIR": filepath.Join(dir, "alloc"),
		"NOMAD_TASK_DIR":    filepath.Join(dir, name, "local"),
		"NOMAD_SECRETS_DIR": filepath.Join(dir, name, "secrets"),
		"NOMAD_TASK_NAME":   name, "NOMAD_ALLOC_ID": task.AllocID, "PATH": os.Getenv("PATH")}
	raw, err := host.EncodeConfig(a.schema, config, task.Env)
	a.must("encode the task's config block", err)
	task.Raw = raw
	return task
}

func (t *Task) newID() { t.ID = fmt.Sprintf("%s/%s/%08x", t.AllocID, t.Name, rand.Uint32()) }

// Anew prepares another start of the task, as after a restart: a new id, in the same
// allocation and directories, and readers for its logs.
func (t *Task) Anew() {
	t.newID()
	t.Stdout.follow()
	t.Stderr.follow()
}
