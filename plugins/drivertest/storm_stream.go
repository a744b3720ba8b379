package drivertest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"

	"google.golang.org/protobuf/types/known/durationpb"

	"doze/plugins/proto/driverpb"
)

// streams are the calls that answer more than once, or are sent more than one message.
func (st *storm) streams(r *rand.Rand, id string) []stormCall {
	d := st.a.Driver()
	return []stormCall{
		{"Fingerprint", true, func(ctx context.Context) error {
			return drain(d.Fingerprint(ctx, &driverpb.FingerprintRequest{}))
		}},
		{"TaskEvents", true, func(ctx context.Context) error {
			return drain(d.TaskEvents(ctx, &driverpb.TaskEventsRequest{}))
		}},
		{"TaskStats", true, func(ctx context.Context) error {
			return drain(d.TaskStats(ctx, &driverpb.TaskStatsRequest{TaskId: id,
				CollectionInterval: pick(r, nil, durationpb.New(-1), durationpb.New(1))}))
		}},
		{"ExecTaskStreaming", true, func(ctx context.Context) error {
			stream, err := d.ExecTaskStreaming(ctx)
			if err != nil {
				return err
			}
			for range r.IntN(4) {
				if stream.Send(execMessage(r, id)) != nil {
					break // what is received tells why
				}
			}
			if r.IntN(2) == 0 {
				_ = stream.CloseSend() // as above
			}
			return drain(stream, nil)
		}},
	}
}

// execMessage is the beginning of an exec, or something in its midst, or nothing.
func execMessage(r *rand.Rand, id string) *driverpb.ExecTaskStreamingRequest {
	return pick(r, &driverpb.ExecTaskStreamingRequest{},
		&driverpb.ExecTaskStreamingRequest{Setup: &driverpb.ExecTaskStreamingRequest_Setup{
			TaskId: id, Command: []string{"cat"}, Tty: r.IntN(4) == 0}},
		&driverpb.ExecTaskStreamingRequest{TtySize: &driverpb.ExecTaskStreamingRequest_TerminalSize{
			Width: -1, Height: 1 << 30}},
		&driverpb.ExecTaskStreamingRequest{Stdin: &driverpb.ExecTaskStreamingIOOperation{
			Data: []byte("text"), Close: r.IntN(2) == 0}})
}

// drain reads a stream to its end, which only some have.
func drain[T any, S interface{ Recv() (*T, error) }](stream S, err error) error {
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
