package drivertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// traces are by what an agent finds what its plugin and tasks have left behind.
type traces struct {
	sockets string // the plugin's directory for them
	crashes int    // each leaves one socket: nobody is there to remove it

	marked sync.Mutex
	marks  []string // what only processes of this agent have in their environment or arguments
}

// marksOf are the paths in a plugin's configuration: processes that it starts may have them.
func marksOf(cfg Config) []string {
	var marks []string
	for _, v := range cfg.Plugin {
		if text, ok := v.(string); ok && filepath.IsAbs(text) {
			marks = append(marks, text)
		}
	}
	return marks
}

func (tr *traces) mark(text string) {
	tr.marked.Lock()
	defer tr.marked.Unlock()
	tr.marks = append(tr.marks, text)
}

// sweep waits until nothing is left, and tells what is.
func (tr *traces) sweep(t *testing.T) {
	t.Helper()
	tr.marked.Lock()
	defer tr.marked.Unlock()
	var left map[int]string
	if !eventually(func() bool { left = processesOf(tr.marks); return len(left) == 0 }) {
		t.Errorf("processes are left, and are killed now: %v", left)
	}
	for pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	files, err := os.ReadDir(tr.sockets)
	if err != nil || len(files) > tr.crashes {
		t.Errorf("after %d crashes the sockets' directory has %v, %v", tr.crashes, files, err)
	}
	if err := os.RemoveAll(tr.sockets); err != nil {
		t.Error(err)
	}
}

// processesOf are the arguments of the processes that have one of the marks, by number. One
// that has only its number left, since its parent has not asked how it ended, has none.
func processesOf(marks []string) map[int]string {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil // a malformed pattern: never
	}
	out := map[int]string{}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		// What cannot be read has ended, or is another user's.
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if slices.ContainsFunc(marks, func(m string) bool {
			return bytes.Contains(environ, []byte(m)) || bytes.Contains(args, []byte(m))
		}) {
			out[pid] = string(bytes.ReplaceAll(args, []byte{0}, []byte{' '}))
		}
	}
	return out
}

// files counts what a process has open.
func files(pid int) (int, error) {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(open), err
}

// eventually reports whether something has become so within patience: what is looked at does
// not tell by itself.
func eventually(is func() bool) bool {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); ; <-again.C {
		if is() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
