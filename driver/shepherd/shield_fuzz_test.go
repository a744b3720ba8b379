package shepherd_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"doze/driver/shepherd/relay"
	"doze/idle"
)

// Whatever a client sends first to a port with shielded paths, and in however many pieces: the
// application is sent just that, or the shepherd answers one whole request for a shielded path,
// or passes it on with its connection's end after it. It never hangs, and the task goes on.
func FuzzShield_port(f *testing.F) {
	for _, sent := range []string{
		"", "G", "GET /healthz", "GET /healthz HTTP/1.1\r\n\r\n", check, check + check,
		check + "hello", "HEAD /healthz HTTP/1.0\r\n\r\n", "GET /other HTTP/1.1\r\n\r\n",
		"POST /healthz HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", "\x16\x03\x01hello",
		"GET /" + strings.Repeat("x", relay.MaxHead), strings.Repeat("\x00", 9<<10),
	} {
		f.Add([]byte(sent), []byte{}, false)
		f.Add([]byte(sent), []byte{1, 0x80 | 3, 20, 0x80 | 1, 127}, true)
	}
	withFreezer(f)
	s := spec(f, "echo")
	s.Shield = []string{"/healthz"}
	c := launch(f, s)
	app := awaitState(f, c, idle.Ready).Pid
	f.Fuzz(func(t *testing.T, sent, cuts []byte, asleep bool) {
		if asleep {
			sleepUnused(t, c, idle.Freeze)
		} else if err := c.Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
		conn := dial(t, c)
		defer conn.Close()
		var writing sync.WaitGroup
		writing.Go(func() { sendInPieces(conn, sent, cuts) })
		got, err := io.ReadAll(conn)
		writing.Wait()
		want := answersTo(sent, asleep)
		if !slices.Contains(want, string(got)) || os.IsTimeout(err) {
			t.Errorf("%q in pieces of %v, asleep %t, is answered %q, %v; not one of %q",
				sent, cuts, asleep, got, err, want)
		}
		if s := status(t, c); s.Pid != app || s.Exit != nil {
			t.Fatalf("%+v", s)
		}
	})
}

// sendInPieces writes sent in pieces as long as the low bits of cuts say; after those with the
// high bit set whoever reads has time to see it alone. It ends when nobody reads any more.
func sendInPieces(conn *net.TCPConn, sent, cuts []byte) {
	for _, cut := range cuts[:min(len(cuts), 32)] {
		n := min(int(cut&0x7f), len(sent))
		if n == 0 {
			continue
		}
		if _, err := conn.Write(sent[:n]); err != nil {
			return
		}
		if cut&0x80 != 0 {
			time.Sleep(time.Millisecond)
		}
		sent = sent[n:]
	}
	if _, err := conn.Write(sent); err == nil {
		_ = conn.CloseWrite() // the other side may have closed it
	}
}

// answersTo are the answers there may be to a client of appEcho.
func answersTo(sent []byte, asleep bool) []string {
	echoed := func(bytes []byte) string { return fmt.Sprintf("%s[%d]", bytes, len(bytes)) }
	if len(sent) == 0 { // closed without a word
		return []string{""}
	}
	n, whole := shieldedLength(sent)
	if !whole {
		return []string{echoed(sent)}
	}
	answers := []string{echoed(append(relay.Once(sent[:n]), sent[n:]...))}
	if asleep {
		answers = append(answers, string(relay.Answer(true)))
	}
	if n < len(sent) { // all of it may have come as one
		answers = append(answers, echoed(sent))
	}
	if n < len(sent) && asleep { // the rest may have come a second after the answer: a reset
		answers = append(answers, "")
	}
	return answers
}

// shieldedLength is how many of the first bytes are a whole request for a shielded path.
func shieldedLength(sent []byte) (int, bool) {
	shield := relay.NewShield([]string{"/healthz"})
	for n := range len(sent) + 1 {
		switch shield.Classify(sent[:n]) {
		case relay.Shielded:
			return n, true
		case relay.Other:
			return 0, false
		}
	}
	return 0, false
}
