package server

import (
	"io"
	"sync"

	"doze/plugins/drivers"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/driverpb"
)

// execOutput is what goes to the caller, in order. After finish nothing does.
type execOutput struct {
	mu       sync.Mutex
	stream   execStream
	finished bool
}

func (o *execOutput) send(msg *driverpb.ExecTaskStreamingResponse) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.finished {
		return io.ErrClosedPipe
	}
	return o.stream.Send(msg)
}

// finish closes both outputs and sends the result, which is the last message.
func (o *execOutput) finish(r drivers.ExitResult) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finished = true
	end := &driverpb.ExecTaskStreamingIOOperation{Close: true}
	for _, msg := range []*driverpb.ExecTaskStreamingResponse{
		{Stdout: end}, {Stderr: end}, {Exited: true, Result: wire.FromExit(r)},
	} {
		if err := o.stream.Send(msg); err != nil {
			return err
		}
	}
	return nil
}

func stdoutOf(data *driverpb.ExecTaskStreamingIOOperation) *driverpb.ExecTaskStreamingResponse {
	return &driverpb.ExecTaskStreamingResponse{Stdout: data}
}

func stderrOf(data *driverpb.ExecTaskStreamingIOOperation) *driverpb.ExecTaskStreamingResponse {
	return &driverpb.ExecTaskStreamingResponse{Stderr: data}
}

// execWriter is one output of a command.
type execWriter struct {
	out  *execOutput
	wrap func(*driverpb.ExecTaskStreamingIOOperation) *driverpb.ExecTaskStreamingResponse
}

func (w execWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		chunk := p[:min(len(p), streamChunk)]
		// Send has encoded the chunk when it returns: p stays the caller's.
		err := w.out.send(w.wrap(&driverpb.ExecTaskStreamingIOOperation{Data: chunk}))
		if err != nil {
			return written, err
		}
		written += len(chunk)
		p = p[len(chunk):]
	}
	return written, nil
}
