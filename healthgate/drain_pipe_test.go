package healthgate_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// drainListener is a listener on net.Pipe: unlike a socket it works in a synctest bubble.
type drainListener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once
}

func newDrainListener() *drainListener {
	return &drainListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *drainListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *drainListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

func (l *drainListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (l *drainListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// drainedServer is an http.Server behind a drainListener and a client that makes a new
// connection for each request.
type drainedServer struct {
	*http.Server
	client *http.Client
	serve  sync.WaitGroup
}

func newDrainedServer(handler http.Handler) *drainedServer {
	listener := newDrainListener()
	s := &drainedServer{
		Server: &http.Server{Handler: handler},
		client: &http.Client{
			Transport: &http.Transport{DialContext: listener.dial, DisableKeepAlives: true},
			Timeout:   time.Minute,
		},
	}
	s.serve.Go(func() { _ = s.Serve(listener) }) // always ErrServerClosed
	return s
}

// get returns the status, 0 when there was no answer.
func (s *drainedServer) get(path string) int {
	resp, err := s.client.Get("http://doze.test" + path)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
