package shepherd_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

// A signal at any instant of falling asleep is taken, or keeps the application awake: a frozen
// process takes none.
func TestClient_signalWhileFreezing_doesNotWaitForTheThaw(t *testing.T) {
	withFreezer(t)
	s := script(t, "trap 'echo heard' USR1; echo runs; while :; do sleep 0.01; done")
	c := launch(t, s)
	awaitLog(t, s, "web.stdout.0", "runs\n")
	app := processes(t, s.Cgroup)[0] // the oldest
	frozen := 0
	for i := range 60 {
		awaitState(t, c, idle.Ready)
		slept := make(chan error, 1)
		go func() { slept <- c.Sleep(t.Context(), idle.Freeze) }()
		pauseFor(t, time.Duration(i%20)*100*time.Microsecond)
		if err := c.Signal(t.Context(), "SIGUSR1"); err != nil {
			t.Fatal(err)
		}
		if err := <-slept; err != nil && !errors.Is(err, shepherd.ErrInUse) {
			t.Fatal(err)
		}
		if s := status(t, c); s.State == idle.Asleep {
			frozen++
			if hasPending(t, app, syscall.SIGUSR1) {
				t.Fatalf("round %d: it is frozen with the signal: %+v", i, s)
			}
		}
		if err := c.Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	awaitLog(t, s, "web.stdout.0", "heard\n")
	t.Logf("frozen after %d of 60 signals", frozen)
}

// A process that is on its way out is not the one to be told; neither is the next one, which
// may not have got as far as to handle a signal.
func TestClient_signalWhileParking_isNoErrorAndTold(t *testing.T) {
	s := spec(t, "stubborn")
	s.ParkTimeout = time.Second
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	wakes := status(t, c).Wakes
	parked := make(chan error, 1)
	go func() { parked <- c.Sleep(t.Context(), idle.Park) }()
	awaitState(t, c, idle.Sleeping)
	if err := c.Signal(t.Context(), "SIGHUP"); err != nil {
		t.Error(err)
	}
	switch err := <-parked; {
	case errors.Is(err, shepherd.ErrInUse): // the signal was there first
		await(t, c, "ended or woken", func(s shepherd.Status) bool {
			return s.Exit != nil && s.Exit.Signal == int(syscall.SIGHUP) || s.Wakes > wakes
		})
	case err != nil && !errors.Is(err, shepherd.ErrExited):
		t.Error(err)
	case err == nil:
		wantIn(t, events(t, c, shepherd.EventUnheard).Message, "SIGHUP reached nobody")
		if s := status(t, c); s.Depth != idle.Park || s.Exit != nil {
			t.Errorf("%+v", s)
		}
	}
}
