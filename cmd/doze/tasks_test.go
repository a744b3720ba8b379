package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A shepherd that tells nothing of its task is named: its task is none that is missing.
func TestTasks_shepherdThatTellsNothing_isNamed(t *testing.T) {
	dir, err := os.MkdirTemp("", "run") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "task"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "task", "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // until l is closed
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<10))            // the call; else it might fail
			_, _ = conn.Write([]byte("\x00\x00\x00\x02mno")) // no answer of a shepherd's
			_ = conn.Close()
		}
	}()
	var out, errs strings.Builder
	status := run([]string{"tasks", "-state-dir", dir}, terminal{&out, &errs, os.LookupEnv})
	if status != exitRuntime || out.Len() > 0 ||
		!strings.Contains(errs.String(), "cannot ask the shepherd in "+filepath.Join(dir, "task")) {
		t.Errorf("status %d, %q, %q", status, &out, &errs)
	}
}
