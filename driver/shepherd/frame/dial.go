package frame

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
)

// ErrNobody: nothing listens at the path, or it ended before it had answered.
var ErrNobody = errors.New("nobody answers")

// RemoteError is an error that the other side answered with.
type RemoteError struct {
	Code string // "" for none
	Text string
}

func (e *RemoteError) Error() string { return e.Text }

// Client makes one call.
type Client struct {
	conn *net.UnixConn
	mu   sync.Mutex
	stop func() bool
}

// Dial connects to path and sends the request. The connection ends with ctx at the latest.
func Dial(ctx context.Context, path, call string, params any) (*Client, error) {
	content, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("cannot encode call: %w", err)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	c := &Client{conn: conn.(*net.UnixConn)}
	c.stop = context.AfterFunc(ctx, func() { _ = conn.Close() }) // unblocks every read
	if err := WriteMessage(conn, Request{Call: call, Params: content}); err != nil {
		c.Close()
		return nil, unreachable(ctx, err)
	}
	return c, nil
}

// unreachable is the end of ctx, ErrNobody where the other side is known to be gone, or what
// has kept this side from asking: no descriptor, no time, a queue that is full.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, gone := range []error{syscall.ENOENT, syscall.ECONNREFUSED, syscall.ECONNRESET,
		syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, gone) {
			return fmt.Errorf("%w: %w", ErrNobody, err)
		}
	}
	return fmt.Errorf("cannot ask: %w", err)
}

// Close ends the call; what the other side does for it ends too.
func (c *Client) Close() {
	c.stop()
	_ = c.conn.Close() // at worst it is closed already
}

// Send sends a frame.
func (c *Client) Send(f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Write(c.conn, f)
}

// SendMessage sends v.
func (c *Client) SendMessage(v any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return WriteMessage(c.conn, v)
}

// Next returns the next frame before the answer; then false and the answer's error. The
// answer's result goes into result, which may be nil.
func (c *Client) Next(ctx context.Context, result any) (Frame, bool, error) {
	f, err := Read(c.conn)
	if err != nil {
		return Frame{}, false, unreachable(ctx, err)
	}
	if f.Kind != Message {
		return f, true, nil
	}
	var a Answer
	if err := f.Decode(&a); err != nil {
		return Frame{}, false, err
	}
	switch {
	case !a.Last:
		return f, true, nil
	case a.Error != "":
		return Frame{}, false, &RemoteError{Code: a.Code, Text: a.Error}
	case result == nil || len(a.Result) == 0:
		return Frame{}, false, nil
	}
	return Frame{}, false, json.Unmarshal(a.Result, result)
}

// Do makes a call that has nothing but an answer.
func Do(ctx context.Context, path, call string, params, result any) error {
	c, err := Dial(ctx, path, call, params)
	if err != nil {
		return err
	}
	defer c.Close()
	_, more, err := c.Next(ctx, result)
	if more {
		return errors.New("cannot read answer: there is more than one")
	}
	return err
}

// Peer returns the pid of the process that listens at the other end, as this process sees
// it; 0 when it can't.
func (c *Client) Peer() int {
	cred, err := peer(c.conn)
	if err != nil {
		return 0
	}
	return int(cred.Pid)
}
