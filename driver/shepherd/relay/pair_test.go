package relay_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"doze/driver/shepherd/relay"
)

// connect returns both ends of a TCP connection.
func connect(t *testing.T) (here, there *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{dialled, accepted} {
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return dialled.(*net.TCPConn), accepted.(*net.TCPConn)
}

// join puts a Pair between a client and an application, which it returns.
func join(t *testing.T, r *relay.Relay, p *relay.Pair) (client, app *net.TCPConn, over *sync.WaitGroup) {
	t.Helper()
	client, p.Client = connect(t)
	p.App, app = connect(t)
	over = &sync.WaitGroup{}
	over.Add(1)
	p.Over = over.Done
	if err := r.Join(p); err != nil {
		t.Fatal(err)
	}
	return client, app, over
}

func TestPair_halfClosed_goesOnInTheOtherDirection(t *testing.T) {
	sent := bytes.Repeat([]byte("abcdefgh"), 100_000)
	client, app, over := join(t, &relay.Relay{}, &relay.Pair{Head: []byte("head ")})
	var writing sync.WaitGroup
	writing.Go(func() {
		_, err := client.Write(sent)
		if err = errors.Join(err, client.CloseWrite()); err != nil {
			t.Error(err)
		}
	})
	got, err := io.ReadAll(app)
	writing.Wait()
	if err != nil || string(got) != "head "+string(sent) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if _, err := app.Write(sent); err != nil { // after the client's end
		t.Fatal(err)
	}
	if err := app.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err = io.ReadAll(client); err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	over.Wait()
}
