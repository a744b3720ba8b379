package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"

	"doze/plugins/drivers"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/driverpb"
)

type execStream = grpc.BidiStreamingClient[
	driverpb.ExecTaskStreamingRequest, driverpb.ExecTaskStreamingResponse]

// ExecStream runs a command in a task, as `nomad alloc exec` does, and returns how
// it ended. Stdin may be nil: none. It is read in another goroutine, which ends at
// the first read after the command has ended.
func (p *Plugin) ExecStream(
	ctx context.Context, id string, s drivers.Session,
) (drivers.ExitResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.driver.ExecTaskStreaming(ctx)
	if err != nil {
		return drivers.ExitResult{}, p.failed(ctx, err)
	}
	setup := &driverpb.ExecTaskStreamingRequest_Setup{TaskId: id, Command: s.Command, Tty: s.TTY}
	in := &execInput{stream: stream}
	if err := in.send(&driverpb.ExecTaskStreamingRequest{Setup: setup}); err == nil {
		go in.copyStdin(s.Stdin)
		go in.copySizes(ctx, s.Resize)
	} // else Recv tells why
	return p.execOutput(ctx, stream, s)
}

func (p *Plugin) execOutput(
	ctx context.Context, stream execStream, s drivers.Session,
) (drivers.ExitResult, error) {
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return drivers.ExitResult{}, errors.New("the plugin has left out the command's result")
		}
		if err != nil {
			return drivers.ExitResult{}, p.failed(ctx, err)
		}
		if err := deliver(msg, s); err != nil {
			return drivers.ExitResult{}, err
		}
		if msg.GetExited() {
			return wire.ToExit(msg.GetResult()), nil
		}
	}
}

func deliver(msg *driverpb.ExecTaskStreamingResponse, s drivers.Session) error {
	if data := msg.GetStdout().GetData(); len(data) > 0 && s.Stdout != nil {
		if _, err := s.Stdout.Write(data); err != nil {
			return fmt.Errorf("cannot write the command's output: %w", err)
		}
	}
	if data := msg.GetStderr().GetData(); len(data) > 0 && s.Stderr != nil {
		if _, err := s.Stderr.Write(data); err != nil {
			return fmt.Errorf("cannot write the command's errors: %w", err)
		}
	}
	return nil
}

// execInput is what goes to the command. A failed send needs no word: Recv tells why.
type execInput struct {
	mu     sync.Mutex
	stream execStream
}

func (in *execInput) send(msg *driverpb.ExecTaskStreamingRequest) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stream.Send(msg)
}

func (in *execInput) copyStdin(r io.Reader) {
	buf := make([]byte, 32<<10)
	for r != nil {
		n, err := r.Read(buf)
		msg := &driverpb.ExecTaskStreamingIOOperation{Data: buf[:n]}
		if n > 0 && in.send(&driverpb.ExecTaskStreamingRequest{Stdin: msg}) != nil {
			return
		}
		if err != nil {
			break // the end of it, or as good as
		}
	}
	end := &driverpb.ExecTaskStreamingIOOperation{Close: true}
	_ = in.send(&driverpb.ExecTaskStreamingRequest{Stdin: end})
}

func (in *execInput) copySizes(ctx context.Context, sizes <-chan drivers.TerminalSize) {
	for {
		select {
		case <-ctx.Done():
			return
		case size, ok := <-sizes:
			if !ok {
				return
			}
			msg := &driverpb.ExecTaskStreamingRequest_TerminalSize{
				Width: size.Width, Height: size.Height}
			if in.send(&driverpb.ExecTaskStreamingRequest{TtySize: msg}) != nil {
				return
			}
		}
	}
}
