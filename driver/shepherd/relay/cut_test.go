package relay_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"doze/driver/shepherd/relay"
)

// resets are the ways to end a connection by a reset.
var resets = map[string]func(*net.TCPConn) error{
	"by its own will": func(conn *net.TCPConn) error {
		return errors.Join(conn.SetLinger(0), conn.Close())
	},
	"with bytes unread": func(conn *net.TCPConn) error { // there are some
		return conn.Close()
	},
}

// A message of no length that is said ends with its connection: an end would make it whole.
func TestPair_resetInAMessage_isNoEndForTheOther(t *testing.T) {
	for how, reset := range resets {
		for name, turn := range map[string]bool{"the application": false, "the client": true} {
			t.Run(name+" "+how, func(t *testing.T) {
				here, goes, over := join(t, &relay.Relay{}, &relay.Pair{})
				if turn {
					here, goes = goes, here
				}
				exchange(t, here, goes, []byte("read"))
				exchange(t, here, goes, []byte("unread")[:2])
				if _, err := here.Write([]byte("unread")); err != nil {
					t.Fatal(err)
				}
				if _, err := goes.Read(make([]byte, 1)); err != nil { // the rest stays
					t.Fatal(err)
				}
				exchange(t, goes, here, []byte("half"))
				if err := reset(goes); err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(here); !errors.Is(err, unix.ECONNRESET) {
					t.Errorf("%q %v", b, err)
				}
				over.Wait()
			})
		}
	}
}

// What is still on its way is not taken back by the reset that follows it.
func TestPair_resetAfterALongAnswer_followsAllOfIt(t *testing.T) {
	answer := bytes.Repeat([]byte("0123456789abcdef"), 8<<10)
	for range 20 {
		client, app, over := join(t, &relay.Relay{}, &relay.Pair{})
		if _, err := app.Write(answer); err != nil {
			t.Fatal(err)
		}
		for unsent(t, app) > 0 { // else the application takes it back itself
		}
		if err := resets["by its own will"](app); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(client)
		if !bytes.Equal(got, answer) || !errors.Is(err, unix.ECONNRESET) {
			t.Fatalf("%d bytes of %d: %v", len(got), len(answer), err)
		}
		over.Wait()
	}
}

// The relay may find out about a reset from what it sends to the one who is gone.
func TestPair_resetUnderAnUpload_isNoEnd(t *testing.T) {
	for range 50 {
		client, app, over := join(t, &relay.Relay{}, &relay.Pair{})
		sent := make(chan error, 1)
		go func() {
			for block := make([]byte, 4<<10); ; {
				if _, err := client.Write(block); err != nil {
					sent <- err
					return
				}
			}
		}()
		if _, err := io.ReadFull(app, make([]byte, 1024)); err != nil {
			t.Fatal(err)
		}
		exchange(t, app, client, []byte("half"))
		if err := resets["by its own will"](app); err != nil {
			t.Fatal(err)
		}
		_, err := io.ReadAll(client)
		if err = errors.Join(err, <-sent); !errors.Is(err, unix.ECONNRESET) { // told once
			t.Fatal(err)
		}
		over.Wait()
	}
}

// Who has said everything, and is then reset, has said everything.
func TestPair_endThenReset_isAnEnd(t *testing.T) {
	client, app, over := join(t, &relay.Relay{}, &relay.Pair{})
	exchange(t, app, client, []byte("all"))
	if err := app.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(client); err != nil || len(b) > 0 {
		t.Fatalf("%q %v", b, err)
	}
	if _, err := client.Write([]byte("unread")); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := app.Close(); err != nil { // with bytes unread
		t.Fatal(err)
	}
	over.Wait()
}
