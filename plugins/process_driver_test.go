package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
)

// Process is a driver of plain processes, each in a session of its own. They outlive
// the plugin; their exit codes do not.
type Process struct {
	drivers.EventLog
	mu    sync.Mutex
	tasks map[string]*process
}

type process struct {
	PID  int
	Born string // its start time, in the kernel's ticks: a pid may be another's
	done chan struct{}
	exit drivers.ExitResult // once done is closed
}

func (*Process) Info() base.Info { return base.Info{Name: "process", Version: "0.1.0"} }

func (*Process) TaskSchema() hclspec.Spec {
	return hclspec.Object{"command": hclspec.Attr{Type: "string", Required: true},
		"args": hclspec.Attr{Type: "list(string)"}}
}

func (*Process) Capabilities() drivers.Capabilities { return drivers.Capabilities{} }

func (*Process) Fingerprint(_ context.Context, send func(drivers.Fingerprint) error) error {
	return send(drivers.Fingerprint{Health: drivers.Healthy, Reason: "it is there",
		Attributes: map[string]drivers.Attribute{"driver.process.kind": drivers.Text("plain")}})
}

func (d *Process) Start(_ context.Context, task drivers.TaskConfig) (drivers.Started, error) {
	var cfg struct {
		Command string   `hcl:"command"`
		Args    []string `hcl:"args"`
	}
	if err := task.Decode(&cfg); err != nil {
		return drivers.Started{}, err
	}
	cmd := exec.Command(cfg.Command, cfg.Args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = task.TaskDir()
	for _, log := range []struct {
		path string
		to   *io.Writer
	}{{task.StdoutPath, &cmd.Stdout}, {task.StderrPath, &cmd.Stderr}} {
		f, err := os.OpenFile(log.path, os.O_WRONLY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return drivers.Started{}, drivers.Recoverable(err)
		}
		defer f.Close() // the process has it for its life
		*log.to = f
	}
	for key, value := range task.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	if err := cmd.Start(); err != nil {
		return drivers.Started{}, fmt.Errorf("cannot start %q: %w", cfg.Command, err)
	}
	p := &process{PID: cmd.Process.Pid, Born: born(cmd.Process.Pid), done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the state tells all
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			p.exit.Signal = int(status.Signal())
		} else {
			p.exit.Code = cmd.ProcessState.ExitCode()
		}
		close(p.done)
	}()
	d.keep(task.ID, p)
	d.Emit(drivers.Event{TaskID: task.ID, AllocID: task.AllocID, TaskName: task.Name,
		Message: "Began as a process", Details: map[string]string{"pid": fmt.Sprint(p.PID)}})
	state, err := json.Marshal(p)
	return drivers.Started{State: state}, err
}

// born is empty for a process that has ended.
func born(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if err != nil || len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

func (d *Process) keep(id string, p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tasks == nil {
		d.tasks = map[string]*process{}
	}
	d.tasks[id] = p
}

func (d *Process) find(id string) (*process, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p, ok := d.tasks[id]; ok {
		return p, nil
	}
	return nil, drivers.ErrTaskNotFound
}

func (d *Process) Recover(_ context.Context, h drivers.Handle) error {
	if _, err := d.find(h.Task.ID); err == nil {
		return nil
	}
	p := &process{done: make(chan struct{})}
	if err := json.Unmarshal(h.State, p); err != nil || p.PID <= 0 || p.Born == "" {
		return fmt.Errorf("cannot recover from %.20q: %w", h.State, err)
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil || born(p.PID) != p.Born {
		return errors.Join(errors.New("the process has ended"), err)
	}
	go func() {
		for err := error(unix.EINTR); errors.Is(err, unix.EINTR); {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		}
		_ = unix.Close(fd)
		p.exit.Message = "the exit code is not known"
		close(p.done)
	}()
	d.keep(h.Task.ID, p)
	return nil
}

func (d *Process) Wait(ctx context.Context, id string) (drivers.ExitResult, error) {
	p, err := d.find(id)
	if err != nil {
		return drivers.ExitResult{}, err
	}
	select {
	case <-ctx.Done():
		return drivers.ExitResult{}, ctx.Err()
	case <-p.done:
		return p.exit, nil
	}
}

func (d *Process) Stop(ctx context.Context, id string, how drivers.StopRequest) error {
	p, err := d.find(id)
	if err != nil {
		return err
	}
	_ = syscall.Kill(-p.PID, syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(how.Timeout):
		_ = syscall.Kill(-p.PID, syscall.SIGKILL)
		<-p.done
	}
	return ctx.Err()
}

func (d *Process) Destroy(_ context.Context, id string, force bool) error {
	p, err := d.find(id)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	default:
		if !force {
			return fmt.Errorf("cannot destroy task %q: it is running", id)
		}
		_ = syscall.Kill(-p.PID, syscall.SIGKILL) // it may have ended
		<-p.done
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.tasks, id)
	return nil
}

func (d *Process) Exec(
	ctx context.Context, id string, s drivers.Session,
) (drivers.ExitResult, error) {
	p, err := d.find(id)
	if err != nil {
		return drivers.ExitResult{}, err
	}
	select {
	case <-p.done:
		return drivers.ExitResult{}, drivers.ErrTaskExited
	default:
	}
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
	err = cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		err = nil
	}
	return drivers.ExitResult{Code: cmd.ProcessState.ExitCode()}, err
}
