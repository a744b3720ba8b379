package relay_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"doze/driver/shepherd/relay"
)

// halfClosed is a pair whose application has sent its end and goes on reading. How often it was
// woken is counted.
func halfClosed(t *testing.T, r *relay.Relay) (
	client, app *net.TCPConn, over *sync.WaitGroup, wakes *atomic.Int32,
) {
	t.Helper()
	wakes = &atomic.Int32{}
	client, app, over = join(t, r, &relay.Pair{Woken: func() error {
		wakes.Add(1)
		r.Resume()
		return nil
	}})
	exchange(t, client, app, []byte("begins"))
	if err := app.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(client); err != nil || len(b) > 0 {
		t.Fatalf("%q %v", b, err)
	}
	return client, app, over, wakes
}

// An application may end its own direction early and read an upload to its end.
func TestRelay_restingUnderOneThatOnlyReads_wakesAndLosesNothing(t *testing.T) {
	var r relay.Relay
	client, app, over, wakes := halfClosed(t, &r)
	r.Rest()
	if _, err := client.Write([]byte("the rest of it")); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(app); err != nil || string(b) != "the rest of it" {
		t.Errorf("%q %v", b, err)
	}
	over.Wait()
	if n := wakes.Load(); n != 1 {
		t.Errorf("woken %d times", n)
	}
}

func TestRelay_restingInAnUploadToOneThatOnlyReads_wakesAtOnce(t *testing.T) {
	var r relay.Relay
	client, app, over, wakes := halfClosed(t, &r)
	n := flood(t, client)
	r.Rest()
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(app); err != nil || len(b) != n {
		t.Errorf("%d bytes of %d: %v", len(b), n, err)
	}
	over.Wait()
	if wakes.Load() == 0 {
		t.Error("not woken")
	}
}

// After both have said their last nobody has to be woken.
func TestRelay_clientEndsAfterTheAppWhileResting_isNotWokenFor(t *testing.T) {
	var r relay.Relay
	client, app, over, wakes := halfClosed(t, &r)
	r.Rest()
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(app); err != nil || len(b) > 0 {
		t.Errorf("%q %v", b, err)
	}
	over.Wait()
	if n := wakes.Load(); n != 0 {
		t.Errorf("woken %d times", n)
	}
}

func TestRelay_clientResetAfterTheAppsEndWhileResting_isNoEndForIt(t *testing.T) {
	var r relay.Relay
	client, app, over, wakes := halfClosed(t, &r)
	r.Rest()
	if err := errors.Join(client.SetLinger(0), client.Close()); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(app); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("%q %v", b, err)
	}
	over.Wait()
	if n := wakes.Load(); n != 0 {
		t.Errorf("woken %d times", n)
	}
}

// A client that was reset before is no reason to wake either, and has not said everything.
func TestRelay_clientResetBeforeTheRest_isNotWokenFor(t *testing.T) {
	for range 20 {
		var r relay.Relay
		client, app, over := join(t, &r, &relay.Pair{Woken: func() error {
			t.Error("woken for one who has gone")
			r.Resume()
			return nil
		}})
		exchange(t, client, app, []byte("hello"))
		if err := errors.Join(client.SetLinger(0), client.Close()); err != nil {
			t.Fatal(err)
		}
		r.Rest()
		if b, err := io.ReadAll(app); !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("%q %v", b, err)
		}
		over.Wait()
	}
}

// Part of an upload is held for an application that can't be woken: it must not look whole.
func TestRelay_uploadThatCannotGoOn_isNoEndForTheApp(t *testing.T) {
	var r relay.Relay
	client, app, over := join(t, &r, &relay.Pair{Woken: func() error { return errors.New("no") }})
	flood(t, client)
	r.Rest()
	over.Wait()
	if _, err := io.ReadAll(app); !errors.Is(err, unix.ECONNRESET) {
		t.Error(err)
	}
}
