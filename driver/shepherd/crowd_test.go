package shepherd_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

// crowd connects to the task n times at once, says something, and returns how each connection
// ended: all of them have to.
func crowd(t *testing.T, c *shepherd.Client, n int) []error {
	t.Helper()
	addr := status(t, c).Listen
	ends := make([]error, n)
	var clients sync.WaitGroup
	for i := range ends {
		clients.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				ends[i] = err
				return
			}
			defer conn.Close()
			err = conn.SetDeadline(time.Now().Add(patience))
			if err == nil {
				_, err = conn.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
			}
			if err == nil {
				_, err = io.ReadAll(conn)
			}
			ends[i] = err
		})
	}
	clients.Wait()
	return ends
}

// wantReset: nobody is answered, nobody is left waiting.
func wantReset(t *testing.T, ends []error) {
	t.Helper()
	for _, err := range ends {
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("a connection ended with %v", err)
		}
	}
}

func TestClient_thousandWantWhatCannotStart_areLetGoAfterOneTry(t *testing.T) {
	for _, activation := range []shepherd.Activation{shepherd.Relay, shepherd.Socket} {
		t.Run("activation "+string(activation), func(t *testing.T) {
			s := spec(t, "http")
			s.Activation, s.OnDemand, s.Command = activation, true, filepath.Join(s.Dir, "app")
			writeProgram(t, s.Command, "#!/bin/sh\nexec sleep 1000\n", 0o755)
			c := launch(t, s)
			if err := os.Remove(s.Command); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			wantReset(t, crowd(t, c, 1000))
			if took := time.Since(began); took > patience/2 {
				t.Errorf("it took %s", took)
			}
			wantIn(t, events(t, c, shepherd.EventFailed).Message, "wake failed: there is no command")
			if s := status(t, c); s.State != idle.Failed || s.Exit != nil {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestClient_clientsOfAWakeThatTimesOut_areLetGoTogether(t *testing.T) {
	s := spec(t, "never")
	s.OnDemand, s.WakeTimeout = true, 300*time.Millisecond
	c := launch(t, s)
	wantReset(t, crowd(t, c, 100))
	if s := status(t, c); s.State != idle.Failed || s.Wakes != 1 {
		t.Errorf("%+v", s)
	}
}

func TestClient_appThatDiesBeforeItIsReady_letsItsClientsGo(t *testing.T) {
	s := spec(t, "http")
	s.OnDemand, s.Command, s.Args = true, "sh", []string{"-c", "sleep 0.2; exit 7"}
	c := launch(t, s)
	wantReset(t, crowd(t, c, 100))
	if e, err := c.Wait(t.Context()); err != nil || e.Code != 7 {
		t.Error(e, err)
	}
}

func TestClient_portOnIPv6_wakesToo(t *testing.T) {
	withFreezer(t)
	for _, activation := range []shepherd.Activation{shepherd.Relay, shepherd.Socket} {
		app := map[shepherd.Activation]string{shepherd.Relay: "http", shepherd.Socket: "socket"}
		s := spec(t, app[activation])
		s.Activation, s.Listen = activation, "[::1]:0"
		c := launch(t, s)
		awaitState(t, c, idle.Ready)
		for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
			sleepUnused(t, c, depth)
			wantIn(t, mustGet(t, c, "/"), "pid ")
		}
	}
}
