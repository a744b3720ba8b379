package shepherd_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"doze/driver/shepherd"
	"doze/idle"
)

// logDir is laid out as an allocation's: alloc/logs, the latter open to the task.
func logDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "alloc", "logs")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func fifo(t *testing.T, dir, name string) (path string, reader *os.File) {
	t.Helper()
	path = filepath.Join(dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// opened for both, so that it does not wait for a writer; only reading is done
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	return path, reader
}

// The reader of a log reads until the last writer closes, and never looks again: the
// shepherd is a writer for life, also while nobody runs.
func TestClient_log_isKeptOpenWhileParked(t *testing.T) {
	dir := logDir(t)
	s := spec(t, "write")
	var out, complaints *os.File
	s.Stdout, out = fifo(t, dir, ".web.stdout.fifo")
	s.Stderr, complaints = fifo(t, dir, ".web.stderr.fifo")
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Park)
	if err := c.Wake(t.Context()); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[*os.File]string{out: "started", complaints: "complaint"} {
		lines := bufio.NewScanner(file)
		for range 2 { // one a start, and no end in between
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("%q %v", lines.Text(), lines.Err())
			}
		}
	}
	if err := c.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// CVE-2026-8052: a task that replaces its log by a link has somebody else's file written.
func TestLaunch_logThatIsNoPipe_isRefused(t *testing.T) {
	for name, trap := range map[string]func(t *testing.T, dir, path, victim string) error{
		"link": func(_ *testing.T, _, path, victim string) error {
			return os.Symlink(victim, path)
		},
		"link to a pipe": func(t *testing.T, dir, path, _ string) error {
			other, _ := fifo(t, dir, "other")
			return os.Symlink(other, path)
		},
		"directory that is a link": func(t *testing.T, dir, path, _ string) error {
			elsewhere := t.TempDir()
			fifo(t, elsewhere, filepath.Base(path))
			if err := os.Remove(dir); err != nil {
				return err
			}
			return os.Symlink(elsewhere, dir)
		},
		"file": func(_ *testing.T, _, path, _ string) error {
			return os.WriteFile(path, nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := logDir(t)
			victim := filepath.Join(t.TempDir(), "victim")
			if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := spec(t, "write")
			s.Stdout = filepath.Join(dir, ".web.stdout.fifo")
			if err := trap(t, dir, s.Stdout, victim); err != nil {
				t.Fatal(err)
			}
			c, err := shepherd.Launch(t.Context(), socketDir(t), s)
			if err == nil {
				_ = c.Destroy(t.Context())
				t.Fatal("launched")
			}
			if !strings.Contains(err.Error(), "cannot open log") {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
				t.Fatalf("%q %v", text, err)
			}
		})
	}
}
