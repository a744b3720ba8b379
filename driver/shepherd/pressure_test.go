package shepherd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

// With nothing said of it, the machine's own memory is what is watched.
func TestClient_frozenThatMayPark_watchesTheMachinesMemory(t *testing.T) {
	withFreezer(t)
	const file = "/proc/pressure/memory"
	psi, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Skip("NEEDS PSI: ", err)
	}
	_ = psi.Close() // nothing was written
	s := spec(t, "http")
	s.FreezeAfter, s.ParkAfter = time.Hour, 2*time.Hour
	c := launch(t, s)
	dog := awaitState(t, c, idle.Ready).Shepherd
	if holds(t, dog, file) {
		t.Error("it is watched while the task is awake")
	}
	sleep(t, c, idle.Freeze)
	await(t, c, "watched", func(shepherd.Status) bool { return holds(t, dog, file) })
	wantIn(t, mustGet(t, c, "/"), "pid ")
	await(t, c, "left alone", func(shepherd.Status) bool { return !holds(t, dog, file) })
}

// holds reports whether a process has a file open.
func holds(t *testing.T, pid int, file string) bool {
	t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		t.Fatalf("the descriptors of process %d can't be listed: %v", pid, err)
	}
	for _, fd := range fds {
		// an error: it has been closed meanwhile
		if target, err := os.Readlink(fd); err == nil && strings.HasSuffix(target, file) {
			return true
		}
	}
	return false
}
