package relay_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"doze/driver/shepherd/relay"
)

// exchange sends a message, and has it come out at the other end.
func exchange(t testing.TB, from, to net.Conn, message []byte) {
	t.Helper()
	sent := make(chan error, 1)
	go func() { // a long message does not fit into the buffers on the way
		_, err := from.Write(message)
		sent <- err
	}()
	got := make([]byte, len(message))
	if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, message) {
		t.Fatalf("%d bytes: %v", len(message), err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

// Every message comes out whole before the next one is sent, however its length lies to those
// at which another way is taken.
func TestPair_messagesOfAllLengths_arriveAtOnce(t *testing.T) {
	client, app, over := join(t, &relay.Relay{}, &relay.Pair{})
	text := bytes.Repeat([]byte("0123456789abcdef!"), 400_000)
	for _, n := range []int{1, 4 << 10, 16<<10 - 1, 16 << 10, 16<<10 + 1, 17, 3 << 20, 64 << 10, 2} {
		exchange(t, client, app, text[:n])
		exchange(t, app, client, text[n:2*n])
	}
	_, _ = client.Close(), app.Close()
	over.Wait()
}

// A connection that nothing passes through holds nothing but its two ends: a pipe for each
// direction would use up the process's descriptors three times as fast.
func TestPair_quietAfterMessages_holdsNoPipe(t *testing.T) {
	before := descriptors(t)
	text := bytes.Repeat([]byte("0123456789abcdef!"), 20_000)
	var r relay.Relay
	for range 20 {
		client, app, _ := join(t, &r, &relay.Pair{})
		exchange(t, client, app, text[:100])
		exchange(t, app, client, text)
	}
	loops := relay.Loops(20) * 2 // epoll and alarm
	awaitDescriptors(t, before+20*4+loops)
}

// awaitDescriptors waits until this process has no more descriptors than so many.
func awaitDescriptors(t *testing.T, most int) {
	t.Helper()
	var have int
	for range 200 {
		if have = descriptors(t); have <= most {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Errorf("%d descriptors are open, not %d", have, most)
}

// descriptors counts those of this process.
func descriptors(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, err := os.Readlink(file); err == nil { // not the one that listed them
			n++
		}
	}
	return n
}
