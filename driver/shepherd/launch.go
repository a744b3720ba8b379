package shepherd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"doze/driver/shepherd/cgroup"

	"golang.org/x/sys/unix"
)

// maxDir bounds the path of a shepherd's directory: a Unix socket's is limited to 107 bytes.
const maxDir = 104

// Launch starts a shepherd in a session of its own and, as root, in new pid, ipc and mount
// namespaces, with the task's application running unless s.OnDemand. It returns once the
// shepherd answers. dir is made, with mode 0700; it will hold the control socket, so its
// path has to be short (at most 104 bytes). The error says what is wrong with the task
// (a missing binary, a port in use) and nothing is left behind then.
func Launch(ctx context.Context, dir string, s Spec) (*Client, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("cannot launch task: %w", err)
	}
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("cannot launch task: %w", err)
	}
	if err := launch(ctx, dir, &s); err != nil {
		// it cleans up after itself, but where it could not even begin
		return nil, errors.Join(fmt.Errorf("cannot launch task: %w", err), Sweep(dir, s.Cgroup))
	}
	return &Client{dir: dir}, nil
}

// makeDir makes the directory, which must not be there yet: what is there may be somebody
// else's.
func makeDir(dir string) error {
	if len(dir) > maxDir || !filepath.IsAbs(dir) {
		return fmt.Errorf("directory %q must be absolute and at most %d bytes long", dir, maxDir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	return os.Mkdir(dir, 0o700)
}

func launch(ctx context.Context, dir string, s *Spec) error {
	log, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	told, ready, err := os.Pipe()
	if err != nil {
		return err
	}
	defer told.Close()
	var spec bytes.Buffer
	if err := s.write(&spec); err != nil {
		return errors.Join(err, ready.Close())
	}
	in, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, ready.Close())
	}
	cmd := shepherdCommand(dir)
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = in, log, []*os.File{ready}
	err = startIn(s.NetNS, cmd)
	err = errors.Join(err, in.Close(), ready.Close())
	if err != nil {
		return errors.Join(err, out.Close())
	}
	ended := make(chan struct{})
	go func() { // for the kernel's sake, and as long as the shepherd lives
		_ = cmd.Wait() // how a task ends is asked of the shepherd
		close(ended)
	}()
	stop := context.AfterFunc(ctx, func() { _ = told.Close() })
	defer stop()
	_, writeErr := spec.WriteTo(out)
	writeErr = errors.Join(writeErr, out.Close())
	if err := hear(ctx, told, log.Name()); err != nil {
		_ = cmd.Process.Kill() // it ends by itself, but when ctx has ended first
		<-ended
		return err
	}
	return writeErr
}

// shepherdCommand is the same program, as it was when this process was started, with an
// environment of its own that keeps it small.
func shepherdCommand(dir string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "shepherd", dir)
	cmd.Args[0] = "doze"
	cmd.Env = []string{"GOGC=25", fmt.Sprintf("GOMAXPROCS=%d", min(runtime.NumCPU(), maxProcs))}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Cloneflags = namespaces
	}
	return cmd
}

// maxProcs is how many CPUs a shepherd uses at once.
const maxProcs = 4

// startIn starts cmd in a network namespace ("": this one), and without the namespaces of
// its own where they are not allowed.
func startIn(netns string, cmd *exec.Cmd) error {
	failed := make(chan error)
	go func() {
		// a thread that has changed its namespace is of no use to anybody else: it ends with
		// this goroutine
		runtime.LockOSThread()
		if netns == "" {
			runtime.UnlockOSThread()
		} else if err := enterNetwork(netns); err != nil {
			failed <- err
			return
		}
		err := cmd.Start()
		if errors.Is(err, syscall.EPERM) && cmd.SysProcAttr.Cloneflags != 0 {
			again := *cmd
			again.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			*cmd = again
			err = cmd.Start()
		}
		failed <- err
	}()
	return <-failed
}

func enterNetwork(path string) error {
	ns, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot enter network namespace: %w", err)
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("cannot enter network namespace %q: %w", path, err)
	}
	return nil
}

// hear waits for what the shepherd says of its start.
func hear(ctx context.Context, told io.Reader, log string) error {
	var note readyNote
	err := json.NewDecoder(told).Decode(&note)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the shepherd ended without a word%s", lastLines(log))
	case note.Error != "":
		return errors.New(note.Error)
	}
	return nil
}

// lastLines is the end of a log, for an error.
func lastLines(log string) string {
	text, err := os.ReadFile(log)
	if err != nil || len(text) == 0 {
		return ""
	}
	const enough = 512
	return ": " + strings.TrimSpace(string(text[max(0, len(text)-enough):]))
}

// Sweep kills everything in a task's cgroups and removes them and the shepherd's directory:
// for whoever finds that a shepherd is gone (ErrGone). As root its children have been
// killed by the kernel already, with the pid namespace that they shared; frozen ones in
// cgroup v1 have to be thawed to die.
func Sweep(dir string, c cgroup.Spec) error {
	return errors.Join(cgroup.Kill(c), cgroup.Remove(c), os.RemoveAll(dir))
}
