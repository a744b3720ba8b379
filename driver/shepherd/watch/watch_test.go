package watch_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"doze/driver/shepherd/watch"

	"golang.org/x/sys/unix"
)

func TestWatch_armed_returnsOnceAnEvent(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	watched, err := watch.New(int(r.Fd()), unix.EPOLLIN)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan error)
	go func() {
		for {
			err := watched.Wait()
			events <- err
			if err != nil {
				return
			}
		}
	}()
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	none := func(why string) {
		t.Helper()
		select {
		case err := <-events:
			t.Fatalf("an event %s: %v", why, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	none("before it is armed")
	for range 2 { // nothing is read, so the next arming finds it too
		if err := watched.Arm(); err != nil {
			t.Fatal(err)
		}
		if err := <-events; err != nil {
			t.Fatal(err)
		}
		none("that was told already")
	}
	if err := watched.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-events; err == nil {
		t.Fatal("an event after the end")
	}
	if err := watched.Arm(); err == nil {
		t.Fatal("armed after the end")
	}
}

// A socket that was shut down hangs up for good. Nobody is to be told who has not asked.
func TestWatch_disarmed_isNotToldOfAHangUp(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	watched, err := watch.New(int(r.Fd()), unix.EPOLLIN)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan error, 1)
	go func() { events <- watched.Wait() }()
	if err := errors.Join(watched.Arm(), watched.Disarm(), watched.Disarm(), w.Close()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-events:
		t.Fatal("an event while disarmed:", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := watched.Arm(); err != nil {
		t.Fatal(err)
	}
	if err := <-events; err != nil {
		t.Fatal(err)
	}
	if err := watched.Close(); err != nil {
		t.Fatal(err)
	}
}
