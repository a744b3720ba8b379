package relay_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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
	client, app, over := join(t, &relay.Pair{})
	text := bytes.Repeat([]byte("0123456789abcdef!"), 400_000)
	for _, n := range []int{1, 4 << 10, 16<<10 - 1, 16 << 10, 16<<10 + 1, 17, 3 << 20, 64 << 10, 2} {
		exchange(t, client, app, text[:n])
		exchange(t, app, client, text[n:2*n])
	}
	_, _ = client.Close(), app.Close()
	over.Wait()
}

// The application is put to sleep again and again while a long message is on its way.
func TestPair_interruptedInALongMessage_losesNothing(t *testing.T) {
	pair := &relay.Pair{Woken: func() {}}
	client, app, over := join(t, pair)
	done := make(chan struct{})
	var interrupting sync.WaitGroup
	interrupting.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Microsecond):
				if err := pair.Interrupt(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	exchange(t, client, app, bytes.Repeat([]byte("0123456789abcdef!"), 1_000_000))
	close(done)
	interrupting.Wait()
	exchange(t, client, app, []byte("and then"))
	_, _ = client.Close(), app.Close()
	over.Wait()
}

// A connection that nothing passes through holds nothing but its two ends: a pipe for each
// direction would use up the process's descriptors three times as fast.
func TestPair_quietAfterMessages_holdsNoPipe(t *testing.T) {
	before := pipes(t)
	text := bytes.Repeat([]byte("0123456789abcdef!"), 20_000)
	for range 20 {
		client, app, _ := join(t, &relay.Pair{})
		exchange(t, client, app, text[:100])
		exchange(t, app, client, text)
	}
	for deadline := time.Now().Add(5 * time.Second); pipes(t) > before; {
		runtime.GC() // one that is not in use is kept for the next until there is a collection
		if time.Now().After(deadline) {
			t.Fatalf("20 quiet pairs hold %d ends of pipes", pipes(t)-before)
		}
	}
}

// pipes counts this process's ends of pipes.
func pipes(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, "pipe:") {
			n++
		}
	}
	return n
}
