package shepherd_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

func sendRequest(conn net.Conn) error {
	_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	return err
}

// ask sends bytes and returns the status of what comes back.
func ask(t *testing.T, c *shepherd.Client, request string) int {
	t.Helper()
	conn := dial(t, c)
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if _, err := io.ReadAll(r.Body); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode
}

const check = "GET /healthz?from=nomad HTTP/1.1\r\nHost: x\r\nUser-Agent: check\r\n\r\n"

// field case 28: probes fail on the frozen
func TestShield_asleep_answersWithoutWaking(t *testing.T) {
	withFreezer(t)
	s := spec(t, "http")
	s.Shield = []string{"/healthz"}
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
		sleep(t, c, depth)
		for range 360 { // an hour of a check every ten seconds
			if code := ask(t, c, check); code != http.StatusOK {
				t.Fatal(code)
			}
		}
		conn := dial(t, c) // a tcp check says nothing
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if s := status(t, c); s.Depth != depth || s.Wakes != 0 {
			t.Fatalf("%+v", s)
		}
	}
	if code := ask(t, c, "GET /other HTTP/1.1\r\nHost: x\r\n\r\n"); code != http.StatusOK {
		t.Fatal(code)
	}
	if s := status(t, c); s.Wakes != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestShield_unclear_wakes(t *testing.T) {
	withFreezer(t)
	s := spec(t, "echo")
	s.Shield = []string{"/healthz"}
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	for _, first := range []string{
		"GET /healthz", // and no more for a while
		"POST /healthz HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi",
		check + check, // two at once
		"\x16\x03\x01hello",
	} {
		sleepUnused(t, c, idle.Freeze)
		before := status(t, c).Wakes
		conn := dial(t, c)
		echo(t, conn, first)
		if s := status(t, c); s.Wakes != before+1 {
			t.Fatalf("%q: %+v", first, s)
		}
		_ = conn.Close()
	}
}

// Awake, checks are the application's to answer, and do not keep it so.
func TestShield_awake_isPassedOnUncounted(t *testing.T) {
	withFreezer(t)
	s := spec(t, "http")
	s.Shield = []string{"/healthz", "/slow"}
	s.FreezeAfter = 100 * time.Millisecond
	c := launch(t, s)
	awaitAnswerOf(t, c, "/healthz", "fine")
	stop := make(chan struct{})
	var checks sync.WaitGroup
	addr := status(t, c).Listen
	checks.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := getFrom(addr, "/healthz"); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	await(t, c, "frozen", func(s shepherd.Status) bool { return s.Depth == idle.Freeze })
	close(stop)
	checks.Wait()
	awaitAnswerOf(t, c, "/slow", "at last") // 200 ms: not frozen under it
}

// awaitAnswerOf asks for a shielded path until the application answers itself: a task that
// is woken and slept again before it is asked does not.
func awaitAnswerOf(t *testing.T, c *shepherd.Client, path, want string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		if err := c.Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
		switch body := mustGet(t, c, path); {
		case body == want:
			return
		case body != "" || time.Now().After(deadline): // "" is the shepherd's own
			t.Fatalf("%s says %q", path, body)
		}
	}
}

func TestShield_neverReady_saysSo(t *testing.T) {
	s := spec(t, "never")
	s.Shield = []string{"/healthz"}
	c := launch(t, s)
	if code := ask(t, c, check); code != http.StatusServiceUnavailable {
		t.Fatal(code)
	}
	if err := c.Stop(t.Context(), -1, ""); err != nil {
		t.Fatal(err)
	}
}
