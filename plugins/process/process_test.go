package process_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"doze/plugins/drivers"
	"doze/plugins/process"
)

// world is a task with its directories, whose output goes to a log that is read.
type world struct {
	drivers.TaskConfig
	stdout *os.File
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{TaskConfig: drivers.TaskConfig{ID: "a/task/1", Name: "task", AllocDir: t.TempDir()}}
	logs := filepath.Join(w.SharedDir(), "logs")
	for _, dir := range []string{w.TaskDir(), logs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.StdoutPath = filepath.Join(logs, ".task.stdout.fifo")
	if err := syscall.Mkfifo(w.StdoutPath, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(w.StdoutPath, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // was only read
	w.stdout = f
	return w
}

// sh starts a script as the task; it is ended with the test.
func (w *world) sh(t *testing.T, script string) (*process.Process, error) {
	t.Helper()
	p, err := process.Start(w.TaskConfig, exec.Command("/bin/sh", "-c", script))
	if err == nil {
		t.Cleanup(func() {
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		})
	}
	return p, err
}

// output is what the script has written when it has ended well.
func (w *world) output(t *testing.T, script string) string {
	t.Helper()
	p, err := w.sh(t, script)
	if err != nil {
		t.Fatal(err)
	}
	if r := p.Wait(); r != (drivers.ExitResult{}) {
		t.Errorf("%q ended with %+v", script, r)
	}
	return w.read(t)
}

// read is what has been written until the last writer closed.
func (w *world) read(t *testing.T) string {
	t.Helper()
	text, err := io.ReadAll(w.stdout)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestStart_environment_isTheTasksAndNeverThePlugins(t *testing.T) {
	t.Setenv("NOMAD_TOKEN", "the agent's")
	w := newWorld(t)
	if got := w.output(t, "/usr/bin/env"); strings.Contains(got, "NOMAD_TOKEN") {
		t.Errorf("a task without variables has %q", got)
	}
	w = newWorld(t)
	w.Env, w.DeviceEnv = map[string]string{"A": "1", "B": "1"}, map[string]string{"B": "2"}
	if got := w.output(t, "echo $A $B; pwd"); got != "1 2\n"+w.TaskDir()+"\n" {
		t.Errorf("a task with variables wrote %q", got)
	}
}

func TestStart_end_isTold(t *testing.T) {
	for script, want := range map[string]drivers.ExitResult{
		"exit 0": {}, "exit 3": {Code: 3}, "kill -TERM $$": {Signal: int(syscall.SIGTERM)},
	} {
		p, err := newWorld(t).sh(t, script)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Wait(); got != want {
			t.Errorf("%q ended with %+v, want %+v", script, got, want)
		}
	}
}

func TestStart_cannot_saysWhy(t *testing.T) {
	for want, spoil := range map[string]func(*world, *exec.Cmd){
		"cannot start":      func(_ *world, c *exec.Cmd) { c.Path = "/no/such/command" },
		"cannot find user":  func(w *world, _ *exec.Cmd) { w.User = "no-such-user" },
		"cannot open log":   func(w *world, _ *exec.Cmd) { w.StdoutPath += ".none" },
		"is no named pipe":  func(w *world, _ *exec.Cmd) { w.StderrPath = w.file(t) },
		".link\": it is no": func(w *world, _ *exec.Cmd) { w.StderrPath = w.link(t) },
		"path escapes":      func(w *world, _ *exec.Cmd) { w.StderrPath = w.linkedDir(t) },
	} {
		w, cmd := newWorld(t), exec.Command("/bin/true")
		spoil(w, cmd)
		_, err := process.Start(w.TaskConfig, cmd)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says %v, want %q", err, want)
		}
		if _, again := errors.AsType[*drivers.RecoverableError](err); again {
			t.Errorf("%v may be tried again", err)
		}
	}
}

// file is a file of the task's in place of a log.
func (w *world) file(t *testing.T) string {
	t.Helper()
	path := w.StdoutPath + ".file"
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// link is a link to a log in place of one.
func (w *world) link(t *testing.T) string {
	t.Helper()
	path := w.StdoutPath + ".link"
	if err := os.Symlink(filepath.Base(w.StdoutPath), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// linkedDir is a log in a directory of logs that is a link out of the allocation's.
func (w *world) linkedDir(t *testing.T) string {
	t.Helper()
	path := filepath.Join(w.SharedDir(), "elsewhere")
	if err := os.Symlink(filepath.Dir(newWorld(t).StdoutPath), path); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(path, filepath.Base(w.StdoutPath))
}

func TestStart_nobodyReadsTheLog_mayBeTriedAgain(t *testing.T) {
	w := newWorld(t)
	if err := w.stdout.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := w.sh(t, "true")
	if _, again := errors.AsType[*drivers.RecoverableError](err); !again {
		t.Errorf("it returned %v", err)
	}
}

func TestStart_user_isWhoRuns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: not root; nothing was run as another user")
	}
	for _, user := range []string{"nobody", "65534"} {
		w := newWorld(t)
		w.User = user
		for _, dir := range []string{filepath.Dir(w.AllocDir), w.AllocDir} {
			if err := os.Chmod(dir, 0o711); err != nil { // as Nomad's data_dir is
				t.Fatal(err)
			}
		}
		if got := w.output(t, "cd /; echo $(id -u)"); got != "65534\n" {
			t.Errorf("the task of %s ran as %q", user, got)
		}
	}
}

func TestProcess_leavesOthersBehind_theyEndWithIt(t *testing.T) {
	w := newWorld(t)
	// The log's reader comes to its end only when no writer is left.
	got := w.output(t, "sleep 600 & echo $!")
	pid, err := strconv.Atoi(strings.TrimSpace(got))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
	if err != nil || n != 1 {
		t.Errorf("process %d is there after 5 s: %v", pid, err)
	}
}

func TestSignal_namesOfAllKinds_areKnown(t *testing.T) {
	for _, name := range []string{"SIGUSR1", "usr1", "sigusr1"} {
		p, err := newWorld(t).sh(t, "exec sleep 600")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Signal(name); err != nil {
			t.Error(err)
		}
		if r := p.Wait(); r.Signal != int(syscall.SIGUSR1) {
			t.Errorf("after %s it ended with %+v", name, r)
		}
		for _, late := range []func() error{p.Kill, func() error { return p.Stop("") }} {
			if err := late(); err != nil {
				t.Errorf("ending what has ended returned %v", err)
			}
		}
		if err := p.Signal("SIGNONSENSE"); err == nil {
			t.Error("a signal that there is not had no error")
		}
	}
}
