package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/drivers"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/driverpb"
)

const (
	// unaryOutput is how much of each output of a script check is kept, in bytes:
	// the first of it. Nomad keeps far less.
	unaryOutput = 1 << 20
	// streamChunk is the most that one message of an exec stream carries, in bytes.
	streamChunk = 32 << 10
	// inputGrace is how long a session goes on for the end of its input after its
	// command: Nomad sends on what its user says at any time, and where that
	// meets the end of the call it gives up what it has not read yet, the result.
	// One whose user has nothing more to say has sent the end long before.
	inputGrace = 100 * time.Millisecond
)

// ExecTask implements the RPC by means of the one Exec that a driver has.
func (s *Driver) ExecTask(
	ctx context.Context, req *driverpb.ExecTaskRequest,
) (*driverpb.ExecTaskResponse, error) {
	d, ok := s.driver.(drivers.Executor)
	if !ok {
		return nil, unsupported("exec")
	}
	if len(req.GetCommand()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "cannot run a command of no words")
	}
	call := ctx
	if limit := wire.ToDuration(req.GetTimeout()); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	var stdout, stderr head
	r, err := d.Exec(ctx, req.GetTaskId(), drivers.Session{Command: req.GetCommand(),
		Stdin: bytes.NewReader(nil), Stdout: &stdout, Stderr: &stderr,
		Resize: make(chan drivers.TerminalSize)})
	if err != nil {
		return nil, wire.Error(call, err)
	}
	return &driverpb.ExecTaskResponse{
		Stdout: stdout.bytes(), Stderr: stderr.bytes(), Result: wire.FromExit(r)}, nil
}

// head keeps the first unaryOutput bytes that are written to it.
type head struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf.Write(p[:min(len(p), unaryOutput-h.buf.Len())])
	return len(p), nil
}

func (h *head) bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.buf.Bytes())
}

type execStream = grpc.BidiStreamingServer[
	driverpb.ExecTaskStreamingRequest, driverpb.ExecTaskStreamingResponse]

// ExecTaskStreaming implements the RPC.
func (s *Driver) ExecTaskStreaming(stream execStream) error {
	d, ok := s.driver.(drivers.Executor)
	if !ok {
		return unsupported("exec")
	}
	ctx := stream.Context()
	first, err := stream.Recv()
	if err != nil {
		return err // the caller has left
	}
	setup := first.GetSetup()
	if len(setup.GetCommand()) == 0 {
		return status.Error(codes.InvalidArgument,
			"an exec has to begin with its setup, and a command in it")
	}
	in, out := newExecInput(), &execOutput{stream: stream}
	go in.run(stream) // ends with the stream, which is when this call returns
	r, err := d.Exec(ctx, setup.GetTaskId(), drivers.Session{
		Command: setup.GetCommand(), TTY: setup.GetTty(),
		Stdin: in.stdin, Stdout: execWriter{out, stdoutOf}, Stderr: execWriter{out, stderrOf},
		Resize: in.resize})
	_ = in.stdin.Close() // always nil; lets a caller's further input go nowhere
	if err != nil {
		err = wire.Error(ctx, err)
	} else {
		err = out.finish(r)
	}
	in.awaitEnd(ctx)
	return err
}

// execInput is what comes from the caller.
type execInput struct {
	stdin  *io.PipeReader
	feed   *io.PipeWriter
	resize chan drivers.TerminalSize // holds the newest
	ended  chan struct{}             // closed by run when no more comes
	done   bool                      // ended is closed
}

func newExecInput() *execInput {
	in := &execInput{resize: make(chan drivers.TerminalSize, 1), ended: make(chan struct{})}
	in.stdin, in.feed = io.Pipe()
	return in
}

func (in *execInput) run(stream execStream) {
	for {
		msg, err := stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil // the reader sees io.EOF
			}
			_ = in.feed.CloseWithError(err) // always nil
			in.end()
			return
		}
		in.take(msg)
	}
}

func (in *execInput) end() {
	if !in.done {
		in.done = true
		close(in.ended)
	}
}

// awaitEnd waits for the end of the input, but not for long.
func (in *execInput) awaitEnd(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, inputGrace)
	defer cancel()
	select {
	case <-in.ended:
	case <-ctx.Done():
	}
}

// take ignores what it does not know: a heartbeat is a message with nothing in it.
func (in *execInput) take(msg *driverpb.ExecTaskStreamingRequest) {
	if op := msg.GetStdin(); op != nil {
		// It fails when the command has ended: the input then goes nowhere.
		_, _ = in.feed.Write(op.GetData())
		if op.GetClose() {
			_ = in.feed.Close() // always nil
			in.end()
		}
	}
	if size := msg.GetTtySize(); size != nil {
		select {
		case <-in.resize: // the older one
		default:
		}
		in.resize <- drivers.TerminalSize{Width: size.GetWidth(), Height: size.GetHeight()}
	}
}
