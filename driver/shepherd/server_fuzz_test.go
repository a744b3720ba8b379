package shepherd_test

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/driver/shepherd/frame"
)

// fuzzed is a shepherd that may be sent anything, and is replaced when its task has ended.
type fuzzed struct {
	spec   shepherd.Spec
	dir    string
	client *shepherd.Client // nil: there is none
}

func (z *fuzzed) alive(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if z.client != nil {
		s, err := z.client.Status(ctx)
		if err != nil {
			t.Fatalf("it answers no more: %v", err)
		}
		if s.Exit == nil {
			return
		}
		if err := z.client.Destroy(ctx); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if z.client, err = shepherd.Launch(ctx, z.dir, z.spec); err != nil {
		t.Fatal(err)
	}
}

// Whatever parameters a call comes with, and whatever follows it: there is one last answer, or
// the connection ends, and the shepherd goes on.
func FuzzShepherd_calls(f *testing.F) {
	calls := []string{"status", "signal", "sleep", "wake", "stats", "events", "exec", "stop", "?"}
	for i, params := range []string{`null`, `{"signal":"HUP"}`, `{"depth":1}`, `{}`, `[]`,
		`{"after":7}`, `{"argv":["true"]}`, `{"timeout":"1s"}`, `{"argv":["cat"],"tty":true}`} {
		f.Add(i, []byte(params), []byte{})
		f.Add(i, []byte(params), []byte("\x00\x00\x00\x02m{}\x00\x00\x00\x03ihey"))
	}
	z := &fuzzed{spec: spec(f, "http"), dir: socketDir(f)}
	f.Cleanup(func() {
		if z.client == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := z.client.Destroy(ctx); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, which int, params, rest []byte) {
		z.alive(t)
		if !json.Valid(params) {
			params = []byte("0") // what is no JSON at all is frame's to refuse
		}
		conn, err := net.Dial("unix", filepath.Join(z.dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		call, within := calls[uint(which)%uint(len(calls))], patience/2
		if call == "events" {
			within = 10 * time.Millisecond // there is no end to them
		}
		if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		err = frame.WriteMessage(conn, map[string]any{"call": call, "params": json.RawMessage(params)})
		if err == nil {
			_, err = conn.Write(rest)
		}
		if err == nil {
			err = conn.(*net.UnixConn).CloseWrite()
		}
		for err == nil { // an error: it has hung up already
			var got frame.Frame
			var answer frame.Answer
			if got, err = frame.Read(conn); err != nil {
				break
			}
			if got.Kind == frame.Message && got.Decode(&answer) == nil && answer.Last {
				break
			}
		}
		if timeout, is := err.(net.Error); is && timeout.Timeout() && call != "events" {
			t.Fatalf("%s %s is never answered", call, params)
		}
		z.alive(t)
	})
}
