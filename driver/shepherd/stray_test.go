package shepherd_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"doze/idle"
)

// What the agent was started with, and hands down to all that it starts, ends before a
// shepherd's task: neither of them has it.
func TestShepherd_descriptorsOfWhoeverStartedTheAgent_areNotKept(t *testing.T) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_NONBLOCK); err != nil { // without O_CLOEXEC
		t.Fatal(err)
	}
	r := os.NewFile(uintptr(fds[0]), "inherited")
	defer r.Close()
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	if err := unix.Close(fds[1]); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("somebody has the other end still: %v", err)
	}
}
