package process

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"doze/plugins/drivers"
)

// Process is a task's process with all that it starts in its process group. It implements
// drivers.Running.
type Process struct {
	id  identity
	cmd *exec.Cmd // nil: an earlier process of the plugin has started it

	mu sync.Mutex
	fd int // pidfd; -1: the process has ended, and its number may be another's
}

// Start starts the command as the task. What the command does not say comes from the task:
// the directory, the environment (never the plugin's own), the user, the logs, and its
// cgroup where Nomad has made one: what is left in that of an earlier start is ended. The
// error is drivers.Recoverable where nobody reads the logs yet.
func Start(task drivers.TaskConfig, cmd *exec.Cmd) (*Process, error) {
	prepared, err := prepare(task, cmd)
	if err != nil {
		return nil, err
	}
	defer prepared.close() // the process has its own
	group := cgroupOf(task)
	if err := group.empty(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %q: %w", cmd.Path, err)
	}
	p := &Process{cmd: cmd}
	if err := errors.Join(group.enter(cmd.Process.Pid), p.hold(cmd.Process.Pid)); err != nil {
		err = errors.Join(err, unix.Kill(-cmd.Process.Pid, unix.SIGKILL))
		_ = cmd.Wait() // it was killed
		return nil, fmt.Errorf("cannot hold %q: %w", cmd.Path, err)
	}
	return p, nil
}

func (p *Process) hold(pid int) (err error) {
	if p.id, err = identify(pid); err != nil {
		return err
	}
	p.fd, err = unix.PidfdOpen(pid, 0)
	return err
}

// Find finds the process of a task again, by the State that was in drivers.Started. One that
// has ended is an error: nobody can tell how it did.
func Find(h drivers.Handle) (*Process, error) {
	id, err := decodeIdentity(h.State)
	if err != nil {
		return nil, fmt.Errorf("cannot recover task %q: %w", h.Task.ID, err)
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot recover task %q: process %d has ended: %w",
			h.Task.ID, id.PID, err)
	}
	// Only now, since from here on the number stays this process's.
	if now, err := identify(id.PID); err != nil || now != id || ended(fd) {
		_ = unix.Close(fd) // was only read
		return nil, fmt.Errorf("cannot recover task %q: process %d has ended, "+
			"the number is another's: %w", h.Task.ID, id.PID, errors.Join(err, drivers.ErrTaskExited))
	}
	return &Process{id: id, fd: fd}, nil
}

// State implements drivers.Running: it is what Find needs.
func (p *Process) State() []byte { return p.id.encode() }

// PID is the process's number.
func (p *Process) PID() int { return p.id.PID }

// Wait implements drivers.Running. What the process has left in its group is ended.
func (p *Process) Wait() drivers.ExitResult {
	waitFor(p.fd)
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.signal(unix.SIGKILL) // what has become another user's cannot be reached
	_ = unix.Close(p.fd)       // was only read
	p.fd = -1
	if p.cmd == nil {
		return drivers.ExitResult{Message: "the process has ended; its exit code is not known, " +
			"since the plugin was restarted meanwhile"}
	}
	return exitOf(p.cmd)
}

// exitOf reaps the process, which has ended.
func exitOf(cmd *exec.Cmd) drivers.ExitResult {
	err := cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case !ok: // no more than an error of Wait's can be told
		return drivers.ExitResult{Message: fmt.Sprintf("cannot see how the process ended: %v", err)}
	case status.Signaled():
		return drivers.ExitResult{Signal: int(status.Signal())}
	default:
		return drivers.ExitResult{Code: status.ExitStatus()}
	}
}

// Stop implements drivers.Running: by SIGTERM, where the job names no signal.
func (p *Process) Stop(signal string) error {
	if signal == "" {
		signal = "SIGTERM"
	}
	return p.Signal(signal)
}

// Kill implements drivers.Running.
func (p *Process) Kill() error { return p.Signal("SIGKILL") }

// Signal sends a signal to the process and its group, by its name, with or without SIG and
// in any case. Signalling what has ended is no error.
func (p *Process) Signal(name string) error {
	upper := "SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG")
	sig := unix.SignalNum(upper)
	if sig == 0 {
		return fmt.Errorf("cannot send signal %q: there is none of that name", name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd < 0 {
		return nil
	}
	return p.signal(sig)
}

// signal reaches the group by the descriptor, whose group cannot have become another's;
// before Linux 6.9 by its number, while the process holds it.
func (p *Process) signal(sig syscall.Signal) error {
	err := unix.PidfdSendSignal(p.fd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
	if errors.Is(err, unix.EINVAL) && (p.cmd != nil || !ended(p.fd)) {
		err = unix.Kill(-p.id.PID, sig)
	}
	if err == nil || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return fmt.Errorf("cannot signal process group %d: %w", p.id.PID, err)
}

// ended reports whether the process of a pidfd has ended, reaped or not.
func ended(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

// waitFor returns when the process of a pidfd has ended.
func waitFor(fd int) {
	for err := error(unix.EINTR); errors.Is(err, unix.EINTR); {
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
	}
}
