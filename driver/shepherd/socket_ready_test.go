package shepherd_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/healthgate"
	"doze/idle"
)

// socketApp is a socket-activated task that is probed often.
func socketApp(t testing.TB, app string) shepherd.Spec {
	t.Helper()
	s := spec(t, app)
	s.Activation = shepherd.Socket
	s.Probe = healthgate.ProbeConfig{Interval: 20 * time.Millisecond, Timeout: 200 * time.Millisecond}
	return s
}

// field case 28: the kernel accepts for an application that has not booted yet.
func TestSocketPort_bootsLate_isNeitherReadyNorFrozenBefore(t *testing.T) {
	withFreezer(t)
	s := socketApp(t, "socket")
	s.FreezeAfter = 50 * time.Millisecond
	boot := `until [ -e booted ]; do sleep 0.01; done; exec "$0" "$@"`
	s.Args = slices.Concat([]string{"-c", boot, s.Command}, s.Args)
	s.Command = "/bin/sh"
	c := launch(t, s)
	answer := make(chan string, 1)
	addr := status(t, c).Listen
	go func() {
		body, err := getFrom(addr, "/")
		answer <- strings.Join([]string{body, errText(err)}, "")
	}()
	pauseFor(t, 500*time.Millisecond) // ten times its idle time
	if s := status(t, c); s.State != idle.Waking || s.Depth != idle.Awake {
		t.Errorf("before it has booted: %+v", s)
	}
	if err := c.Sleep(t.Context(), idle.Freeze); err == nil {
		t.Error("frozen before it has booted, by command")
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "booted"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wantIn(t, <-answer, "pid ")
	await(t, c, "frozen", func(s shepherd.Status) bool { return s.Depth == idle.Freeze })
}

func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestSocketPort_neverAccepts_failsWithAReason(t *testing.T) {
	s := socketApp(t, "")
	s.Command, s.Args = "/bin/sleep", []string{"1000"}
	s.WakeTimeout = time.Second
	c := launch(t, s)
	awaitState(t, c, idle.Failed)
	wantIn(t, events(t, c, shepherd.EventFailed).Message, "has not accepted a connection")
}

func TestSocketPort_closedByTheApp_failsWithAReasonAndRefuses(t *testing.T) {
	withFreezer(t) // and its cgroup, which tells who has the socket open
	s := socketApp(t, "socket")
	s.WakeTimeout = time.Second
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	mustGet(t, c, "/close")
	if s := awaitState(t, c, idle.Failed); !strings.Contains(s.Err, "has its listening socket open") {
		t.Error(s.Err)
	}
	conn, err := net.Dial("tcp", status(t, c).Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("nobody will ever accept it, and it ends by %v", err)
	}
}

// An application that serves one after the other accepts no probe as long as one stays.
func TestSocketPort_busyWithOneClient_isReady(t *testing.T) {
	withFreezer(t)
	s := socketApp(t, "serial")
	s.OnDemand = true
	c := launch(t, s)
	conn := dial(t, c)
	echo(t, conn, "hello")
	awaitState(t, c, idle.Ready)
	pauseFor(t, 1500*time.Millisecond) // more than three probes that would time out
	if s := status(t, c); s.State != idle.Ready {
		t.Errorf("%+v", s)
	}
	echo(t, conn, "and on")
	_ = conn.Close()
	sleepUnused(t, c, idle.Freeze)
	echo(t, dial(t, c), "again")
}

// The socket is the shepherd's too: what an application does to it ends with its process.
func TestSocketPort_shutDownByTheApp_listensAgain(t *testing.T) {
	withFreezer(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := socketApp(t, "shutter")
	s.Listen = l.Addr().String() // Linux forgets one that it has chosen itself
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	for range 2 {
		sleepUnused(t, c, idle.Park)
		if s := status(t, c); s.Depth != idle.Park || s.Listen != l.Addr().String() {
			t.Fatalf("%+v", s)
		}
		wantIn(t, mustGet(t, c, "/"), "pid ")
		awaitState(t, c, idle.Ready)
	}
}
