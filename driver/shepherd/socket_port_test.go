package shepherd_test

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

func socketSpec(t testing.TB) shepherd.Spec {
	s := spec(t, "socket")
	s.Activation = shepherd.Socket
	return s
}

func TestSocketPort_asleep_wakesOnTheFirstConnection(t *testing.T) {
	withFreezer(t)
	for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
		t.Run(depth.String(), func(t *testing.T) {
			c := launch(t, socketSpec(t))
			awaitState(t, c, idle.Ready)
			for range 3 {
				sleepUnused(t, c, depth)
				if s := status(t, c); s.Depth != depth {
					t.Fatalf("%+v", s)
				}
				wantIn(t, mustGet(t, c, "/"), "pid ")
				awaitState(t, c, idle.Ready)
			}
		})
	}
}

func TestSocketPort_bornParked_startsOnTheFirstConnection(t *testing.T) {
	s := socketSpec(t)
	s.OnDemand = true
	c := launch(t, s)
	if s := status(t, c); s.Pid != 0 {
		t.Fatalf("%+v", s)
	}
	wantIn(t, mustGet(t, c, "/env"), "LISTEN_FDNAMES=doze")
}

// The kernel counts: one that is open keeps awake, one that has ended begins the idle time
// anew, and the shepherd's own probes are no use at all.
func TestSocketPort_activity_isReadFromTheKernel(t *testing.T) {
	withFreezer(t)
	s := socketSpec(t)
	s.FreezeAfter = 100 * time.Millisecond
	s.Probe.Interval = 5 * time.Millisecond
	c := launch(t, s)
	conn := dial(t, c)
	if err := sendRequest(conn); err != nil {
		t.Fatal(err)
	}
	pauseFor(t, 250*time.Millisecond)
	if s := status(t, c); s.Depth != idle.Awake || s.InFlight == 0 {
		t.Fatalf("%+v", s)
	}
	if err := c.Sleep(t.Context(), idle.Freeze); !errors.Is(err, shepherd.ErrInUse) {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	longest, before := time.Duration(0), time.Now()
	for range 10 { // short ones, that no look at what is open would see
		mustGet(t, c, "/")
		pauseFor(t, 20*time.Millisecond)
		longest, before = max(longest, time.Since(before)), time.Now()
	}
	if s := status(t, c); s.Wakes != 0 && longest < 80*time.Millisecond {
		t.Fatalf("it slept between connections: %+v", s)
	}
	await(t, c, "frozen", func(s shepherd.Status) bool { return s.Depth == idle.Freeze })
}

func TestSocketPort_manyConnectionsAtOnce_areOneWake(t *testing.T) {
	withFreezer(t)
	c := launch(t, socketSpec(t))
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Park)
	addr := status(t, c).Listen
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if _, err := getFrom(addr, "/"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s := status(t, c); s.Wakes != 1 {
		t.Fatalf("%+v", s)
	}
}

// What can't be started is not tried without a pause, although the connection waits on.
func TestSocketPort_cannotStart_backsOff(t *testing.T) {
	s := socketSpec(t)
	s.OnDemand = true
	s.Command = s.Dir + "/here"
	if err := os.Symlink(binary, s.Command); err != nil {
		t.Fatal(err)
	}
	c := launch(t, s)
	if err := os.Remove(s.Command); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", status(t, c).Listen)
	switch {
	case err == nil:
		t.Cleanup(func() { _ = conn.Close() })
	case !errors.Is(err, syscall.ECONNRESET): // let go before it has seen itself connected
		t.Fatal(err)
	}
	awaitState(t, c, idle.Failed)
	pauseFor(t, 200*time.Millisecond)
	if s := status(t, c); s.Wakes != 1 {
		t.Fatalf("%d wakes", s.Wakes)
	}
	wantIn(t, events(t, c, shepherd.EventFailed).Message, "there is no command")
}

// sleepUnused puts a task to sleep as soon as its last connection is gone.
func sleepUnused(t *testing.T, c *shepherd.Client, depth idle.Depth) {
	t.Helper()
	await(t, c, "asleep", func(shepherd.Status) bool {
		err := c.Sleep(t.Context(), depth)
		if err != nil && !errors.Is(err, shepherd.ErrInUse) {
			t.Fatal(err)
		}
		return err == nil
	})
}
