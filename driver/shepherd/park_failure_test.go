package shepherd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/idle"
)

// appLocker serves the socket that it was given. At SIGTERM it locks the filter that keeps
// newcomers out, so that nobody can take that away any more (socket(7), SO_LOCK_FILTER), and
// ends with status 4.
func appLocker([]string) error {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	file := os.NewFile(3, "listener")
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		return err
	}
	go func() {
		<-told
		if err := unix.SetsockoptInt(3, unix.SOL_SOCKET, unix.SO_LOCK_FILTER, 1); err != nil {
			os.Exit(5)
		}
		os.Exit(4)
	}()
	return serveHTTP(l)
}

// Parked it would be a task that nobody can reach and, as long as nobody takes its process's
// end for its own, one that can't be stopped.
func TestClient_parkFailsAfterTheEnd_isAnExit(t *testing.T) {
	s := socketSpec(t)
	s.Args = []string{"app", "locker"}
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	await(t, c, "parked in vain", func(shepherd.Status) bool {
		err := c.Sleep(t.Context(), idle.Park)
		if err == nil {
			t.Fatal("it is parked")
		}
		return !errors.Is(err, shepherd.ErrInUse) // by a probe
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if e, err := c.Wait(ctx); err != nil || e.Code != 4 {
		t.Error(e, err)
	}
	if err := c.Stop(ctx, -1, ""); err != nil {
		t.Error(err)
	}
}

// What waits for a disk survives SIGKILL for as long as that takes; and so does what stands
// still in somebody else's v1 freezer, which a test has at hand.
func TestClient_parkedSurvivesTheKill_exitsWhenItEnds(t *testing.T) {
	asRoot(t)
	freezer := foreignFreezer(t)
	s := spec(t, "http")
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	for _, pid := range processes(t, s.Cgroup) {
		writeTo(t, filepath.Join(freezer, "cgroup.procs"), pid)
	}
	writeTo(t, filepath.Join(freezer, "freezer.state"), "FROZEN")
	err := c.Sleep(t.Context(), idle.Park)
	if err == nil {
		t.Fatal("parked, although its process is there")
	}
	wantIn(t, err.Error(), "survive SIGKILL")
	if s := status(t, c); s.Exit != nil || s.Pid == 0 {
		t.Errorf("%+v", s)
	}
	writeTo(t, filepath.Join(freezer, "freezer.state"), "THAWED")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if e, err := c.Wait(ctx); err != nil || e.Signal != int(syscall.SIGKILL) {
		t.Error(e, err)
	}
	if err := c.Stop(ctx, -1, ""); err != nil {
		t.Error(err)
	}
}

// foreignFreezer makes a v1 freezer that no shepherd knows of.
func foreignFreezer(t *testing.T) string {
	t.Helper()
	h, err := cgroup.Detect()
	if err != nil || h.Legacy["freezer"] == "" {
		t.Skip("NEEDS A V1 FREEZER: ", err)
	}
	name := fmt.Sprintf("doze-test-foreign-%d-%d", os.Getpid(), tasks.Add(1))
	dir := filepath.Join(h.Legacy["freezer"], name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		writeTo(t, filepath.Join(dir, "freezer.state"), "THAWED")
		if err := cgroup.Remove(cgroup.Spec{Legacy: map[string]string{"freezer": dir}}); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// processes are those in a task's cgroups, as the test sees them.
func processes(t *testing.T, s cgroup.Spec) []string {
	t.Helper()
	dir := s.Unified
	for _, legacy := range s.Legacy {
		if dir == "" {
			dir = legacy
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

func writeTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

// hasPending reports whether a signal waits for a process.
func hasPending(t *testing.T, pid string, sig syscall.Signal) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nShdPnd:")
	line, _, _ := strings.Cut(rest, "\n")
	bits, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return bits&(1<<(sig-1)) != 0
}
