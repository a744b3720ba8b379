package server_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"doze/plugins/drivers"
	"doze/plugins/internal/server"
	"doze/plugins/proto/driverpb"
)

// hasty is a driver whose commands end before they have begun.
type hasty struct {
	drivers.Driver // has the rest, which nobody calls
	err            error
}

func (d *hasty) Exec(context.Context, string, drivers.Session) (drivers.ExitResult, error) {
	return drivers.ExitResult{Code: 3}, d.err
}

// session is an agent's end of an exec stream.
type session struct {
	grpc.ServerStream
	ctx   context.Context
	input chan *driverpb.ExecTaskStreamingRequest
	got   []*driverpb.ExecTaskStreamingResponse
}

func (s *session) Context() context.Context { return s.ctx }

func (s *session) Send(msg *driverpb.ExecTaskStreamingResponse) error {
	s.got = append(s.got, msg)
	return nil
}

func (s *session) Recv() (*driverpb.ExecTaskStreamingRequest, error) {
	select {
	case msg, more := <-s.input:
		if !more {
			return nil, io.EOF
		}
		return msg, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// Nomad takes it for the session's failure, and loses the result, when it sends on what has
// come from its user and the call has ended before.
func TestExecStream_commandEndsBeforeItsInput_waitsForItsEnd(t *testing.T) {
	ends := &driverpb.ExecTaskStreamingRequest{
		Stdin: &driverpb.ExecTaskStreamingIOOperation{Close: true}}
	for name, c := range map[string]struct {
		end  func(*session) // nil: its user types on
		fail error
	}{
		"the input is closed": {end: func(s *session) { s.input <- ends }},
		"the stream is":       {end: func(s *session) { close(s.input) }},
		"never":               {},
		"could not be run":    {end: func(s *session) { s.input <- ends }, fail: errors.New("no")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				s := &session{ctx: ctx, input: make(chan *driverpb.ExecTaskStreamingRequest)}
				ended := make(chan error, 1)
				go func() {
					ended <- server.NewDriver(&hasty{err: c.fail}).ExecTaskStreaming(s)
				}()
				s.input <- &driverpb.ExecTaskStreamingRequest{Setup: &driverpb.
					ExecTaskStreamingRequest_Setup{TaskId: "x", Command: []string{"true"}}}
				synctest.Wait()
				if c.fail == nil && !s.got[len(s.got)-1].GetExited() {
					t.Error("the result is held back")
				}
				began := time.Now()
				if c.end != nil {
					checkGoesOn(t, ended)
					c.end(s)
				}
				if err := <-ended; (err != nil) != (c.fail != nil) {
					t.Error("the call returned", err)
				}
				if took := time.Since(began); (took > 0) != (c.end == nil) || took > time.Second {
					t.Errorf("it took %s more", took)
				}
			})
		})
	}
}

func checkGoesOn(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		t.Fatal("the call has ended before the input:", err)
	default:
	}
}
