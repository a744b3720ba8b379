package shepherd_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

func TestClient_parkSignal_letsTheAppSaveItsData(t *testing.T) {
	app := `trap 'echo saved; exit 0' INT; trap 'echo told to end; exit 0' TERM; echo runs
		while :; do sleep 0.01; done`
	for signal, want := range map[string]string{
		"SIGINT": "runs\nsaved\nruns\ntold to end\n", "": "runs\ntold to end\nruns\ntold to end\n",
	} {
		s := script(t, app)
		s.ParkSignal = signal
		c := launch(t, s)
		awaitLog(t, s, "web.stdout.0", "runs\n")
		sleep(t, c, idle.Park)
		if err := c.Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitLog(t, s, "web.stdout.0", "\nruns\n")
		if err := c.Stop(t.Context(), 0, ""); err != nil {
			t.Fatal(err)
		}
		if log := readLog(t, s, "web.stdout.0"); log != want {
			t.Errorf("parked by %q the app says %q, not %q", signal, log, want)
		}
	}
}

func TestClient_parkTimeout_isHowLongTheAppMayTake(t *testing.T) {
	s := script(t, "trap '' INT; echo runs; while :; do sleep 0.01; done")
	s.ParkSignal, s.ParkTimeout = "SIGINT", 300*time.Millisecond
	c := launch(t, s)
	awaitLog(t, s, "web.stdout.0", "runs\n")
	began := time.Now()
	sleep(t, c, idle.Park)
	if took := time.Since(began); took < s.ParkTimeout {
		t.Errorf("parked after %s", took)
	}
	if s := status(t, c); s.Pid != 0 || s.Exit != nil {
		t.Errorf("%+v", s)
	}
}

// While it takes its time to end, a parked application is asked and answers as ever over the
// connections that are open.
func TestClient_askedWhileParking_answers(t *testing.T) {
	s := spec(t, "stubborn")
	s.ParkTimeout = time.Second
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	conn := dial(t, c)
	before := answered(t, conn)
	wakes := status(t, c).Wakes
	parked := make(chan error, 1)
	go func() { parked <- c.Sleep(t.Context(), idle.Park) }()
	awaitState(t, c, idle.Sleeping)
	if after := answered(t, conn); after != before {
		t.Errorf("%q answered, then %q", before, after)
	}
	if err := <-parked; err != nil {
		t.Error(err)
	}
	_, _ = io.ReadAll(conn) // its end, or a reset
	if s := status(t, c); s.Depth != idle.Park || s.Wakes != wakes {
		t.Errorf("%+v", s)
	}
}

// answered asks over an open connection.
func answered(t *testing.T, conn net.Conn) string {
	t.Helper()
	if err := sendRequest(conn); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A client that never hangs up holds nobody up once the task is to go.
func TestClient_destroyUnderAConnection_doesNotWaitForIt(t *testing.T) {
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	conn := dial(t, c)
	answered(t, conn)
	_, _ = get(t, c, "/exit") // hangs up
	await(t, c, "exited", func(s shepherd.Status) bool { return s.Exit != nil })
	ctx, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	if err := c.Destroy(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Destroy(ctx); err != nil && !errors.Is(err, shepherd.ErrGone) {
		t.Fatal(err)
	}
}
