package frame

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Request is the first message of a connection.
type Request struct {
	Call   string          `json:"call"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Answer is the last message of a connection.
type Answer struct {
	Last   bool            `json:"last"` // tells it from a message in between
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
	Code   string          `json:"code,omitempty"` // of the error, for programs
}

// Handler carries out one kind of call. Its context ends when the caller has left, or the
// server ends.
type Handler func(ctx context.Context, c *Call) (result any, err error)

// Server answers calls on one listener.
type Server struct {
	Handlers map[string]Handler
	// Code turns an error into a word for programs, "" for none.
	Code func(error) string
}

const (
	// maxCalls bounds the calls under way at once.
	maxCalls = 128
	// requestIn is how long a caller may take to say what he wants.
	requestIn = 5 * time.Second
	// takenIn is how long a caller may take to read what a call that is over has sent.
	takenIn = time.Second
	// acceptAgain is after how long a failed accept is tried again.
	acceptAgain = 50 * time.Millisecond
)

var errBusy = errors.New("too many calls are under way")

// Serve answers calls until ctx ends, and returns when the last has ended. It closes l.
func (s *Server) Serve(ctx context.Context, l *net.UnixListener) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })() // nobody is left to be told
	places := make(chan struct{}, maxCalls)
	for {
		conn, err := l.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close() // it came too late
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("cannot accept calls: %w", err)
		case err != nil: // out of descriptors: that passes
			pause(ctx)
			continue
		}
		calls.Go(func() {
			defer conn.Close()
			select {
			case places <- struct{}{}:
				s.serve(ctx, conn)
				<-places
			default:
				s.answer(conn, nil, errBusy)
			}
		})
	}
}

func pause(ctx context.Context) {
	timer := time.NewTimer(acceptAgain)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// serve takes one call from its request to its answer. Whoever may not call is hung up on.
func (s *Server) serve(ctx context.Context, conn *net.UnixConn) {
	if !allowed(conn) {
		return
	}
	var request Request
	err := conn.SetReadDeadline(time.Now().Add(requestIn))
	if err == nil {
		err = ReadMessage(conn, &request)
	}
	if err == nil {
		err = conn.SetReadDeadline(time.Time{})
	}
	if err != nil {
		s.answer(conn, nil, fmt.Errorf("cannot read request: %w", err))
		return
	}
	handler := s.Handlers[request.Call]
	if handler == nil {
		s.answer(conn, nil, fmt.Errorf("unknown call %q", request.Call))
		return
	}
	result, err := s.handle(ctx, conn, handler, request)
	s.answer(conn, result, err)
}

// handle runs the handler beside the one reader of the connection.
func (s *Server) handle(
	ctx context.Context, conn *net.UnixConn, handler Handler, r Request,
) (any, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { finish(conn) })()
	call := &Call{Params: r.Params, conn: conn, raw: raw, frames: make(chan Frame)}
	var reader sync.WaitGroup
	reader.Go(func() {
		defer cancel()
		call.read(ctx)
	})
	result, err := handler(ctx, call)
	cancel()
	reader.Wait()
	return result, err
}

// finish has a call come to its end: nothing more is read, and what the caller does not take
// is not sent for long. A failure means that he has left.
func finish(conn *net.UnixConn) {
	_ = conn.CloseRead()
	_ = conn.SetWriteDeadline(time.Now().Add(takenIn))
}

func (s *Server) answer(conn *net.UnixConn, result any, err error) {
	a := Answer{Last: true}
	if err == nil && result != nil {
		a.Result, err = json.Marshal(result)
	}
	if err != nil {
		a.Result, a.Error = nil, err.Error()
		if s.Code != nil {
			a.Code = s.Code(err)
		}
	}
	_ = conn.SetWriteDeadline(time.Now().Add(requestIn)) // a closed one fails below too
	_ = WriteMessage(conn, a)                            // a caller who has left is not told
}

// allowed reports whether the caller is root or the user that this process runs as.
func allowed(conn *net.UnixConn) bool {
	cred, err := peer(conn)
	return err == nil && (cred.Uid == 0 || int(cred.Uid) == os.Geteuid())
}

// peer returns who is at the other end (unix(7), SO_PEERCRED).
func peer(conn *net.UnixConn) (*unix.Ucred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return cred, errors.Join(err, credErr)
}
