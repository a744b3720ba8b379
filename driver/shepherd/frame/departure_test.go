package frame_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"doze/driver/shepherd/frame"
)

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

func await(t *testing.T, what string, happens <-chan struct{}) {
	t.Helper()
	select {
	case <-happens:
	case <-time.After(patience):
		t.Fatal(what, "has not come in time")
	}
}

func TestServer_callerLeavesWhoIsNotRead_endsTheCall(t *testing.T) {
	ended := make(chan struct{})
	path := serve(t, frame.Server{Handlers: map[string]frame.Handler{
		"ignore": func(ctx context.Context, _ *frame.Call) (any, error) {
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		},
	}})
	call, err := frame.Dial(t.Context(), path, "ignore", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := call.Send(frame.Frame{Kind: frame.Stdin, Content: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	call.Close()
	await(t, "the call's end", ended)
}

// Who has no more to say is still listened to, and answered.
func TestServer_callerSaysNoMore_isReadToTheEnd(t *testing.T) {
	const sent = 20
	all, read := make(chan struct{}), make(chan int, 1)
	path := serve(t, frame.Server{Handlers: map[string]frame.Handler{
		"count": func(_ context.Context, c *frame.Call) (any, error) {
			<-all
			n := 0
			for range c.Frames() {
				n++
			}
			read <- n
			return n, nil
		},
	}})
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := frame.WriteMessage(conn, frame.Request{Call: "count"}); err != nil {
		t.Fatal(err)
	}
	for range sent {
		if err := frame.Write(conn, frame.Frame{Kind: frame.Stdin}); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	close(all)
	if n := <-read; n != sent {
		t.Errorf("%d frames of %d were read", n, sent)
	}
	var a frame.Answer
	if err := frame.ReadMessage(conn, &a); err != nil || string(a.Result) != "20" {
		t.Errorf("%+v %v", a, err)
	}
}

// A caller who stays, and neither reads nor writes, does not keep a server from its end.
func TestServer_endsUnderAStalledCaller_doesNotWaitForHim(t *testing.T) {
	began := make(chan struct{}, 1)
	for name, handler := range map[string]frame.Handler{
		"says nothing": func(_ context.Context, c *frame.Call) (any, error) {
			began <- struct{}{}
			for range c.Frames() {
			}
			return nil, nil
		},
		"reads nothing": func(_ context.Context, c *frame.Call) (any, error) {
			began <- struct{}{}
			for {
				if _, err := c.Writer(frame.Stdout).Write(make([]byte, 1<<20)); err != nil {
					return nil, err
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			s := frame.Server{Handlers: map[string]frame.Handler{"stall": handler}}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if err := s.Serve(ctx, l); err != nil {
					t.Error(err)
				}
			}()
			call, err := frame.Dial(t.Context(), path, "stall", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer call.Close()
			<-began
			cancel()
			await(t, "the server's end", ended)
		})
	}
}
