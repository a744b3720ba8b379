package drivertest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"doze/plugins/drivers"
	"doze/plugins/host"
)

// Task is a task to start, with the directories and log fifos that an agent makes
// before it does, and what has come out of the fifos.
type Task struct {
	drivers.TaskConfig
	Stdout, Stderr *Log
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
	task.Anew()
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

// Anew gives the task the id of another start: the same allocation and directories,
// as after a restart of the task.
func (t *Task) Anew() { t.ID = fmt.Sprintf("%s/%s/%08x", t.AllocID, t.Name, rand.Uint32()) }

// Log reads a task's fifo as Nomad's log collector does: until its last writer has
// closed it, and then no more.
type Log struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ended chan struct{}
}

func newLog(t *testing.T, path string) *Log {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatalf("cannot make the log fifo: %v", err)
	}
	l := &Log{ended: make(chan struct{})}
	go l.read(path)
	t.Cleanup(func() {
		// A reader that never had a writer waits in open: be one.
		f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Errorf("cannot release the log's reader: %v", err)
		}
	})
	return l
}

func (l *Log) read(path string) {
	defer close(l.ended)
	f, err := os.Open(path)
	if err != nil {
		return // the test has removed it
	}
	defer f.Close()
	buf := make([]byte, 4096)
	for {
		n, err := f.Read(buf)
		l.mu.Lock()
		l.text.Write(buf[:n])
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Text is what the task has written so far.
func (l *Log) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Ended is closed when the last writer has closed the fifo: nothing that a task
// writes afterwards is collected.
func (l *Log) Ended() <-chan struct{} { return l.ended }
