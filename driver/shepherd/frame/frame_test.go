package frame_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"doze/driver/shepherd/frame"
)

func TestFrame_written_isReadBack(t *testing.T) {
	var wire bytes.Buffer
	want := []frame.Frame{
		{Kind: frame.Message, Content: []byte(`{}`)},
		{Kind: frame.Stdin, Content: []byte{}},
		{Kind: frame.Stdout, Content: bytes.Repeat([]byte("x"), frame.MaxSize)},
	}
	for _, f := range want {
		if err := frame.Write(&wire, f); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range want {
		got, err := frame.Read(&wire)
		if err != nil || got.Kind != f.Kind || !bytes.Equal(got.Content, f.Content) {
			t.Fatalf("%c of %d bytes, %v", got.Kind, len(got.Content), err)
		}
	}
	if _, err := frame.Read(&wire); err != io.EOF {
		t.Fatal(err)
	}
	tooLarge := frame.Frame{Kind: frame.Stdin, Content: make([]byte, frame.MaxSize+1)}
	if err := frame.Write(&wire, tooLarge); !errors.Is(err, frame.ErrTooLarge) {
		t.Fatal(err)
	}
}

func FuzzFrame_Read(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02m{}"))
	f.Add([]byte("\xff\xff\xff\xffm"))
	f.Add([]byte("\x00\x00\x00\x01?x"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		r := bytes.NewReader(wire)
		for {
			got, err := frame.Read(r)
			if err != nil {
				return
			}
			var back bytes.Buffer
			if err := frame.Write(&back, got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(wire, back.Bytes()) {
				t.Fatalf("%q was read from %q", back.Bytes(), wire)
			}
		}
	})
}

// serve answers calls in a directory of the test's, until it ends.
func serve(t testing.TB, s frame.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	return path
}

var errOdd = errors.New("an odd number")

func halve(_ context.Context, c *frame.Call) (any, error) {
	var n int
	if err := json.Unmarshal(c.Params, &n); err != nil {
		return nil, err
	}
	if n%2 != 0 {
		return nil, errOdd
	}
	return n / 2, nil
}

func TestServer_calls_areAnsweredOneByOne(t *testing.T) {
	path := serve(t, frame.Server{
		Handlers: map[string]frame.Handler{"halve": halve},
		Code: func(err error) string {
			if errors.Is(err, errOdd) {
				return "odd"
			}
			return ""
		},
	})
	var n int
	if err := frame.Do(t.Context(), path, "halve", 42, &n); err != nil || n != 21 {
		t.Fatal(n, err)
	}
	for call, want := range map[string]string{"halve": "odd", "double": ""} {
		err := frame.Do(t.Context(), path, call, 1, &n)
		remote, ok := errors.AsType[*frame.RemoteError](err)
		if !ok || remote.Code != want {
			t.Errorf("%s: %v", call, err)
		}
	}
	if err := frame.Do(t.Context(), path+"x", "halve", 1, &n); !errors.Is(err, frame.ErrNobody) {
		t.Error(err)
	}
}

func TestServer_callerLeaves_endsTheCall(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	path := serve(t, frame.Server{Handlers: map[string]frame.Handler{
		"hang": func(ctx context.Context, _ *frame.Call) (any, error) {
			close(began)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		},
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- frame.Do(ctx, path, "hang", nil, nil) }()
	<-began
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	<-ended
}

func TestServer_streams_arriveInOrder(t *testing.T) {
	path := serve(t, frame.Server{Handlers: map[string]frame.Handler{
		"echo": func(_ context.Context, c *frame.Call) (any, error) {
			for f := range c.Frames() {
				if len(f.Content) == 0 {
					break
				}
				if _, err := c.Writer(frame.Stdout).Write(f.Content); err != nil {
					return nil, err
				}
			}
			return "done", nil
		},
	}})
	call, err := frame.Dial(t.Context(), path, "echo", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer call.Close()
	sent := bytes.Repeat([]byte("abc"), 50_000)
	for _, content := range [][]byte{sent, nil} {
		if err := call.Send(frame.Frame{Kind: frame.Stdin, Content: content}); err != nil {
			t.Fatal(err)
		}
	}
	var got []byte
	var result string
	for {
		f, more, err := call.Next(t.Context(), &result)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		got = append(got, f.Content...)
	}
	if result != "done" || !bytes.Equal(got, sent) {
		t.Fatalf("%q %d bytes", result, len(got))
	}
}

// Nothing that can be sent makes the server fall, or answer without being asked.
func FuzzServer_anything(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x0fm{\"call\":\"halve\"}"))
	f.Add([]byte("\x00\x00\x00\x1bm{\"call\":\"halve\",\"params\":4}"))
	f.Add([]byte("\x00\x00\x00\x04mnull"))
	path := serve(f, frame.Server{Handlers: map[string]frame.Handler{"halve": halve}})
	f.Fuzz(func(t *testing.T, sent []byte) {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(sent); err != nil {
			t.Skip("it hung up already")
		}
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
			t.Skip("it hung up already")
		}
		got, err := frame.Read(conn)
		if err != nil {
			return // reset: it had not read everything
		}
		var a frame.Answer
		if err := got.Decode(&a); err != nil || !a.Last {
			t.Fatalf("%q: %v", got.Content, err)
		}
		var n int
		if err := frame.Do(t.Context(), path, "halve", 4, &n); err != nil || n != 2 {
			t.Fatal(n, err)
		}
	})
}
