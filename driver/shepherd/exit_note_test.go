package shepherd_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

// A parent that exits 0 and leaves the work to a child ends the task, and looks well.
func TestClient_daemon_isEndedAndToldWhy(t *testing.T) {
	asRoot(t)
	s := spec(t, "never")
	s.Listen, s.Command, s.Args = "", "sh", []string{"-c", "sleep 1000 & exit 0"}
	c := launch(t, s)
	wantIn(t, events(t, c, shepherd.EventLeft).Message, "left 1 of its processes behind (s")
	if e, err := c.Wait(t.Context()); err != nil || e.Code != 0 || e.Note != "" || e.Err != "" {
		t.Error(e, err) // a note would make a failure of it
	}
}

func TestClient_ignoresTERM_isToldToHaveBeenKilled(t *testing.T) {
	c := launch(t, spec(t, "stubborn"))
	awaitState(t, c, idle.Ready)
	if err := c.Stop(t.Context(), 50*time.Millisecond, "TERM"); err != nil {
		t.Fatal(err)
	}
	wantIn(t, events(t, c, shepherd.EventKilled).Message, "SIGTERM did not end it within 50ms")
}

// Nomad's log collector gives up on a full disk: the next word of the task is its last.
func TestClient_logWithoutAReader_isWhatEndsIt(t *testing.T) {
	s := spec(t, "never")
	s.Stdout = filepath.Join(s.Dir, "logs", "out.fifo")
	reader := openFifo(t, s.Stdout)
	s.Listen, s.Command = "", "sh"
	s.Args = []string{"-c", "while [ ! -e go ]; do sleep 0.01; done; exec yes"}
	c := launch(t, s)
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	e, err := c.Wait(t.Context())
	if err != nil || e.Signal != int(syscall.SIGPIPE) {
		t.Fatal(e, err)
	}
	wantIn(t, e.Note, "nobody reads its log any more")
}

func openFifo(t *testing.T, path string) *os.File {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestClient_socketThatNobodyCanTake_saysWhoseStatusItIs(t *testing.T) {
	s := spec(t, "socket")
	s.Activation, s.Command = shepherd.Socket, "text"
	writeProgram(t, filepath.Join(s.Dir, "text"), "#!/no/such/sh\n", 0o755)
	c := launch(t, s)
	e, err := c.Wait(t.Context())
	if err != nil || e.Code < 126 || e.Code > 127 {
		t.Fatal(e, err)
	}
	wantIn(t, e.Note, "/bin/sh, which hands it the socket, could not start it")
}
