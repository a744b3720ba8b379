package frame

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"syscall"
)

// Call is one call as its handler sees it.
type Call struct {
	Params json.RawMessage

	conn   *net.UnixConn
	raw    syscall.RawConn // of conn
	frames chan Frame      // what the caller sends after its request; closed at the end
	mu     sync.Mutex      // one frame is written at a time
}

// Frames are what the caller sends after its request, closed when he has no more to say.
func (c *Call) Frames() <-chan Frame { return c.frames }

// Send sends a frame before the answer.
func (c *Call) Send(f Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Write(c.conn, f)
}

// SendMessage sends v before the answer.
func (c *Call) SendMessage(v any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return WriteMessage(c.conn, v)
}

// Writer returns a writer that sends what is written as frames of a kind.
func (c *Call) Writer(kind Kind) *Writer { return &Writer{call: c, kind: kind} }

// read passes frames on until the caller has left or the call has ended.
func (c *Call) read(ctx context.Context) {
	defer close(c.frames)
	for {
		f, err := Read(c.conn)
		if err != nil {
			return
		}
		if !c.pass(ctx, f) {
			return
		}
	}
}

// pass hands a frame to the handler, and reports false where that is of no use any more: the
// call has ended, or the caller has left.
func (c *Call) pass(ctx context.Context, f Frame) bool {
	select {
	case c.frames <- f:
		return true
	default:
	}
	left, stop := c.watch()
	defer stop()
	select {
	case c.frames <- f:
		return true
	case <-left:
		return false
	case <-ctx.Done():
		return false
	}
}

// Writer sends frames of one kind.
type Writer struct {
	call *Call
	kind Kind
}

// chunk bounds one frame of a stream, in bytes.
const chunk = 32 << 10

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		part := p[sent:min(len(p), sent+chunk)]
		if err := w.call.Send(Frame{Kind: w.kind, Content: part}); err != nil {
			return sent, err
		}
		sent += len(part)
	}
	return sent, nil
}
