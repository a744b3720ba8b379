package shepherd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"doze/driver/shepherd"
	"doze/idle"
)

func TestClient_limitsRefused_areTold(t *testing.T) {
	s := spec(t, "http")
	s.Cgroup.Unified, s.Cgroup.Legacy = "/proc/nowhere", nil
	s.Cgroup.Limits.MemoryBytes = 1 << 30
	told := toldBeforeStart(t, launch(t, s))
	if len(told) != 1 || told[0].Kind != shepherd.EventExposed {
		t.Fatalf("it is told %+v", told)
	}
	for _, part := range []string{"not fully isolated: ", "cgroup v2: ", "; memory limit: ",
		". The agent has to be root"} {
		wantIn(t, told[0].Message, part)
	}
	if strings.Contains(told[0].Message, "freezer") {
		t.Errorf("that it can't be frozen has to do with isolation: %q", told[0].Message)
	}
}

func TestClient_isolatedAsItWasMeant_isToldNothingOfIt(t *testing.T) {
	asRoot(t)
	s := spec(t, "http")
	s.Cgroup.Legacy = nil // and no limits: a machine may be without a controller
	c := launch(t, s)
	if missing := exposures(status(t, c)); len(missing) > 0 {
		t.Skip("NEEDS A MACHINE THAT ALLOWS NAMESPACES: ", missing)
	}
	if told := toldBeforeStart(t, c); len(told) > 0 {
		t.Errorf("it is told %+v", told)
	}
}

// exposures are what is missing besides a freezer.
func exposures(s shepherd.Status) []string {
	var missing []string
	for _, what := range s.Missing {
		if !strings.HasPrefix(what, "freezer: ") {
			missing = append(missing, what)
		}
	}
	return missing
}

// A container often may not make namespaces. Its tasks run on without, and each says so.
func TestLaunch_namespacesRefused_runsAndTellsOnce(t *testing.T) {
	dir := socketDir(t)
	if err := launchWithoutAdmin(t, dir); err != nil {
		t.Fatal(err)
	}
	c, err := shepherd.Connect(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	})
	awaitState(t, c, idle.Ready)
	told := toldBeforeStart(t, c)
	want := "not fully isolated: pid, ipc and mount namespaces: operation not permitted. " +
		"The agent has to be root, with CAP_SYS_ADMIN and cgroups that it may write to"
	if len(told) != 1 || told[0].Kind != shepherd.EventExposed || told[0].Message != want {
		t.Errorf("it is told %+v, not %q", told, want)
	}
	if again := toldBeforeStart(t, c); len(again) > 0 {
		t.Errorf("a later reader is told %+v", again)
	}
}

// toldBeforeStart are the events before the one of the application's start.
func toldBeforeStart(t *testing.T, c *shepherd.Client) []shepherd.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var told []shepherd.Event
	enough := errors.New("enough")
	err := c.Events(ctx, func(e shepherd.Event) error {
		if e.Kind == shepherd.EventStarted {
			return enough
		}
		told = append(told, e)
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("after %+v: %v", told, err)
	}
	return told
}

// launchWithoutAdmin has a process that can't be given CAP_SYS_ADMIN launch a task in dir.
func launchWithoutAdmin(t *testing.T, dir string) error {
	t.Helper()
	cmd := exec.Command(binary, "app", "launch", dir)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	done := make(chan error)
	go func() { // its thread ends with it
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_ADMIN, 0, 0, 0); err != nil {
				done <- fmt.Errorf("cannot give a capability away: %w", err)
				return
			}
		}
		done <- cmd.Run()
	}()
	return <-done
}

// appLaunch launches a task that neither sleeps nor has limits.
func appLaunch(args []string) error {
	_, err := shepherd.Launch(context.Background(), args[0], shepherd.Spec{
		TaskID: "test/bare", Command: "/bin/sleep", Args: []string{"600"}, Dir: "/"})
	return err
}
