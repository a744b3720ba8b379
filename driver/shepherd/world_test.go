package shepherd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/healthgate"
	"doze/idle"
)

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

var tasks atomic.Int64

// asRoot skips where a test is about what only root may do.
func asRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NEEDS ROOT: cgroups and namespaces")
	}
}

// withFreezer skips where nothing can be frozen.
func withFreezer(t testing.TB) {
	t.Helper()
	asRoot(t)
	h, err := cgroup.Detect()
	if err != nil || h.Freezer() == "" {
		t.Skip("NEEDS A CGROUP FREEZER: ", err)
	}
}

// withController skips where nothing limits what a controller does: a task that takes all
// it can get would take it from the machine.
func withController(t testing.TB, controller string) {
	t.Helper()
	asRoot(t)
	h, err := cgroup.Detect()
	if err != nil || !h.Has(controller) {
		t.Skipf("NEEDS THE CGROUP CONTROLLER %s: %v", controller, err)
	}
}

// place names cgroups of this test's own, and has them removed.
func place(t testing.TB) cgroup.Spec {
	t.Helper()
	if os.Geteuid() != 0 {
		return cgroup.Spec{}
	}
	h, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("doze-test-%d-%d", os.Getpid(), tasks.Add(1))
	s := cgroup.Spec{Legacy: map[string]string{}}
	if h.Unified != "" {
		s.Unified = filepath.Join(h.Unified, name)
	}
	for c, mount := range h.Legacy {
		if c != "freezer" || h.Unified == "" {
			s.Legacy[c] = filepath.Join(mount, name)
		}
	}
	t.Cleanup(func() {
		if err := shepherd.Sweep("/nonexistent", s); err != nil {
			t.Error(err)
		}
	})
	return s
}

// spec describes an application of this test binary's, on a free port.
func spec(t testing.TB, app string) shepherd.Spec {
	t.Helper()
	dir, err := os.MkdirTemp("", "task")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return shepherd.Spec{
		TaskID:      "test/" + app,
		Command:     binary,
		Args:        []string{"app", app},
		Dir:         dir,
		Env:         []string{"PATH=/usr/bin:/bin"},
		Listen:      "127.0.0.1:0",
		WakeTimeout: 5 * time.Second,
		ParkTimeout: 2 * time.Second,
		Probe:       healthgate.ProbeConfig{Kind: "tcp"},
		Cgroup:      place(t),
	}
}

// launch launches a task and has it destroyed.
func launch(t testing.TB, s shepherd.Spec) *shepherd.Client {
	t.Helper()
	return launchIn(t, socketDir(t), s)
}

// launchIn is launch with the shepherd's directory.
func launchIn(t testing.TB, dir string, s shepherd.Spec) *shepherd.Client {
	t.Helper()
	c, err := shepherd.Launch(t.Context(), dir, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			text, err := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("the shepherd's log: %s%v", text, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Destroy(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

func socketDir(t testing.TB) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	return filepath.Join(parent, "x")
}

func status(t testing.TB, c *shepherd.Client) shepherd.Status {
	t.Helper()
	s, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// await waits until the task's status is as wanted.
func await(
	t testing.TB, c *shepherd.Client, what string, is func(shepherd.Status) bool,
) shepherd.Status {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		s := status(t, c)
		if is(s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("not %s in time: %+v", what, s)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func awaitState(t testing.TB, c *shepherd.Client, state idle.State) shepherd.Status {
	t.Helper()
	return await(t, c, state.String(), func(s shepherd.Status) bool { return s.State == state })
}

// get asks the task's port, over a connection of its own.
func get(t testing.TB, c *shepherd.Client, path string) (string, error) {
	t.Helper()
	return getFrom(status(t, c).Listen, path)
}

func getFrom(addr, path string) (string, error) {
	client := http.Client{
		Timeout:   patience,
		Transport: &http.Transport{DisableKeepAlives: true},
	}
	r, err := client.Get("http://" + addr + path)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return string(body), err
}

func mustGet(t testing.TB, c *shepherd.Client, path string) string {
	t.Helper()
	body, err := get(t, c, path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func dial(t testing.TB, c *shepherd.Client) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", status(t, c).Listen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func sleep(t testing.TB, c *shepherd.Client, depth idle.Depth) {
	t.Helper()
	if err := c.Sleep(t.Context(), depth); err != nil {
		t.Fatal(err)
	}
}

func wantIn(t testing.TB, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%q does not contain %q", text, part)
	}
}

// pauseFor lets real time pass, for what must not happen meanwhile.
func pauseFor(t testing.TB, d time.Duration) {
	t.Helper()
	time.Sleep(d)
}

func itoa(n int) string { return strconv.Itoa(n) }

// events reads the task's events until there is one of a kind. What it passes over is gone.
func events(t testing.TB, c *shepherd.Client, kind shepherd.EventKind) shepherd.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var found shepherd.Event
	enough := errors.New("enough")
	err := c.Events(ctx, func(e shepherd.Event) error {
		if e.Kind == kind {
			found = e
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("no event %q: %v", kind, err)
	}
	return found
}
