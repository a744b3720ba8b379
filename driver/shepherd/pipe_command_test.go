package shepherd

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A task may put a named pipe in its program's place after the program could not be started and
// before the shepherd looks why: whoever opens it to read would wait for a writer.
func TestStartFault_namedPipeInTheProgramsPlace_isNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app")
	if err := syscall.Mkfifo(path, 0o755); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() { // without end where it waits
		told <- startFault(command{path: path, dir: "/"}, nil, syscall.ENOENT)
	}()
	select {
	case err := <-told:
		if err == nil {
			t.Error("there is no fault")
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for somebody to write to the pipe")
	}
}
