package drivertest

import (
	"bytes"
	"os"
	"sync"
	"syscall"
	"testing"
)

// Log reads a task's fifo as Nomad's log collector does: until its last writer has
// closed it, and then no more, until the next start.
type Log struct {
	path  string
	mu    sync.Mutex
	text  bytes.Buffer
	ended chan struct{} // nil: there is no reader yet
}

func newLog(t *testing.T, path string) *Log {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatalf("cannot make the log fifo: %v", err)
	}
	l := &Log{path: path}
	l.follow()
	t.Cleanup(func() {
		// A reader that never had a writer waits in open: be one.
		f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Errorf("cannot release the log's reader: %v", err)
		}
	})
	return l
}

// follow starts a reader, unless there is one.
func (l *Log) follow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		select {
		case <-l.ended:
		default:
			return
		}
	}
	l.ended = make(chan struct{})
	go l.read(l.ended)
}

func (l *Log) read(ended chan struct{}) {
	defer close(ended)
	f, err := os.Open(l.path)
	if err != nil {
		return // the test has removed it
	}
	defer f.Close()
	buf := make([]byte, 4096)
	for {
		n, err := f.Read(buf)
		l.mu.Lock()
		l.text.Write(buf[:n])
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Text is what the task has written so far.
func (l *Log) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Ended is closed when the last writer has closed the fifo: nothing that a task
// writes afterwards is collected.
func (l *Log) Ended() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}
