package devnomad

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processes is the Runner of real processes, like raw_exec: each task leads a
// process group of its own, and nothing of it outlives the cluster's process.
type processes struct {
	starts   chan func()
	watchdog *watchdog
}

// newProcesses starts the thread that all tasks are children of: Linux ends a
// child when the thread that made it ends, so that has to be one that stays.
// tempDir ("": none) is removed if this process is killed.
func newProcesses(ctx context.Context, spawn func(func()), tempDir string) *processes {
	p := &processes{starts: make(chan func()), watchdog: &watchdog{dir: tempDir}}
	spawn(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for {
			select {
			case start := <-p.starts:
				start()
			case <-ctx.Done():
				return
			}
		}
	})
	return p
}

// Start implements Runner.
func (p *processes) Start(ctx context.Context, spec TaskSpec) (Task, error) {
	cmd, err := command(spec)
	if err != nil {
		return nil, err
	}
	closeLogs, err := openLogs(cmd, spec)
	if err != nil {
		return nil, err
	}
	defer closeLogs()
	if err := p.watchdog.begin(); err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	select {
	case p.starts <- func() { started <- cmd.Start() }:
		err = <-started
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", launchFailed, err)
	}
	if err := p.watchdog.add(cmd.Process.Pid); err != nil {
		killGroup(cmd.Process.Pid)
		return nil, errors.Join(err, cmd.Wait())
	}
	t := &process{cmd: cmd, pid: cmd.Process.Pid, done: make(chan struct{}), watchdog: p.watchdog}
	go t.reap() // ends when the process does; Close kills every process
	return t, nil
}

// launchFailed begins the text of Nomad's driver failure.
const launchFailed = "failed to launch command with executor"

// command reads the config that raw_exec and exec know.
func command(spec TaskSpec) (*exec.Cmd, error) {
	name, ok := spec.Config["command"].(string)
	if !ok || name == "" {
		return nil, errors.New(`missing required argument: "command"`)
	}
	path, err := lookCommand(name, spec)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path)
	args, ok := spec.Config["args"].([]any)
	if !ok && spec.Config["args"] != nil {
		return nil, errors.New(`invalid argument "args": a list of strings is required`)
	}
	for _, a := range args {
		cmd.Args = append(cmd.Args, fmt.Sprint(a))
	}
	cmd.Dir, cmd.Env = spec.Dir, environ(spec.Env)
	if dir, ok := spec.Config["work_dir"].(string); ok && dir != "" {
		cmd.Dir = dir
	}
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = time.Second
	return cmd, nil
}

// lookCommand finds a command as Nomad's executor does: in the task's local/
// directory, in the task's directory, then on PATH.
func lookCommand(name string, spec TaskSpec) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	for _, dir := range []string{filepath.Join(spec.Dir, "local"), spec.Dir} {
		at := filepath.Join(dir, name)
		if st, err := os.Stat(at); err == nil && !st.IsDir() {
			return at, nil
		}
	}
	if at, err := exec.LookPath(name); err == nil {
		return at, nil
	}
	return "", fmt.Errorf("%s: file %s not found under path", launchFailed, name)
}

func openLogs(cmd *exec.Cmd, spec TaskSpec) (closeAll func(), err error) {
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			f.Close() // the child has its own
		}
	}
	for _, path := range []string{spec.Stdout, spec.Stderr} {
		if spec.NoLogs {
			path = os.DevNull
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			closeAll()
			return nil, fmt.Errorf("cannot open log of task %q: %w", spec.Name, err)
		}
		files = append(files, f)
	}
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	return closeAll, nil
}

// process is a running task of the processes Runner.
type process struct {
	cmd      *exec.Cmd
	pid      int // also its process group
	done     chan struct{}
	exit     Exit // set before done is closed
	watchdog *watchdog
}

func (t *process) reap() {
	defer close(t.done)
	err := t.cmd.Wait()
	killGroup(t.pid) // what the leader has left behind
	t.watchdog.remove(t.pid)
	status, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		t.exit = Exit{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
	case t.cmd.ProcessState != nil:
		t.exit = Exit{Code: t.cmd.ProcessState.ExitCode()}
	default:
		t.exit = Exit{Code: 1, Err: err.Error()}
	}
}

// Wait implements Task.
func (t *process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-t.done:
		return t.exit, nil
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

// Signal implements Task; a name that raw_exec does not know means SIGINT.
func (t *process) Signal(name string) error {
	return t.cmd.Process.Signal(signalByName(name))
}

// Stop implements Task.
func (t *process) Stop(ctx context.Context, signal string, grace time.Duration) error {
	if grace > 0 {
		// An error means that it has ended already.
		if err := t.cmd.Process.Signal(signalByName(signal)); err == nil {
			soft, cancel := context.WithTimeout(ctx, grace)
			defer cancel()
			if _, err := t.Wait(soft); err == nil {
				return nil
			}
		}
	}
	killGroup(t.pid)
	_, err := t.Wait(ctx)
	return err
}

func signalByName(name string) os.Signal {
	if s := unix.SignalNum(strings.ToUpper(name)); s != 0 {
		return s
	}
	return os.Interrupt
}

// killGroup ends a process group; one that is gone is no error.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}
