package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Front serves a Gate on listeners without TLS. Requests of the plainest kind (HTTP/1.1, no
// body or a small one that came with the head, to a ready group) it takes from the client
// to the target and back on one goroutine, without net/http; a connection on which anything
// else arrives it hands to the Gate's Server, for good, as if nothing had been read from
// it. A client that does not read what it is sent is cut off after clientStall, which the
// Server alone does not do. Its methods mean what http.Server's mean.
type Front struct {
	gate   *Gate
	server *http.Server
	handed *handedListener
	done   chan struct{}  // closed when no more connections are wanted
	over   chan struct{}  // closed when the front's own connections are done with
	end    func()         // closes over
	plain  sync.WaitGroup // the front's own connections
	rest   sync.WaitGroup // the server and the watch

	mu        sync.Mutex // never held across anything that blocks
	listeners map[net.Listener]struct{}
	conns     map[*frontConn]struct{}
	working   bool
	closing   bool
}

// Front returns a front for the Gate.
func (g *Gate) Front() *Front {
	over := make(chan struct{})
	return &Front{
		gate: g, server: g.Server(), handed: newHandedListener(), done: make(chan struct{}),
		over: over, end: sync.OnceFunc(func() { close(over) }),
		listeners: map[net.Listener]struct{}{}, conns: map[*frontConn]struct{}{},
	}
}

// Serve accepts connections until Shutdown or Close, and then returns
// http.ErrServerClosed.
func (f *Front) Serve(l net.Listener) error {
	if !f.open(l) {
		l.Close()
		return http.ErrServerClosed
	}
	pause := time.Duration(0)
	for {
		conn, err := l.Accept()
		if err == nil {
			pause = 0
			f.start(conn)
			continue
		}
		if f.isClosing() {
			return http.ErrServerClosed
		}
		if !isTemporary(err) {
			return err
		}
		// Out of file descriptors, most likely: as net/http does, wait for some.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		f.gate.log.Warn("cannot accept connections", "error", err, "again_in", pause)
		select {
		case <-time.After(pause):
		case <-f.done:
		}
	}
}

// isTemporary reports whether accepting may work again later.
func isTemporary(err error) bool {
	temporary, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && temporary.Temporary()
}

// serveHanded ends with Shutdown or Close, which is no error.
func (f *Front) serveHanded() {
	if err := f.server.Serve(f.handed); !errors.Is(err, http.ErrServerClosed) {
		f.gate.log.Error("cannot serve connections", "error", err)
	}
}

// open takes a listener in; with the first one the front begins to work.
func (f *Front) open(l net.Listener) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return false
	}
	if !f.working {
		f.working = true
		f.rest.Go(f.serveHanded)
		f.rest.Go(f.watchClients)
	}
	f.listeners[l] = struct{}{}
	return true
}

func (f *Front) isClosing() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// start serves a connection on a goroutine of its own, which ends with it or when it has
// been handed over.
func (f *Front) start(conn net.Conn) {
	c := newFrontConn(f, conn)
	f.mu.Lock()
	closing := f.closing
	if !closing {
		f.conns[c] = struct{}{}
		f.plain.Go(c.serve)
	}
	f.mu.Unlock()
	if closing {
		conn.Close()
	}
}

func (f *Front) remove(c *frontConn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// close stops accepting.
func (f *Front) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closing {
		f.closing = true
		close(f.done)
	}
	for l := range f.listeners {
		l.Close()
		delete(f.listeners, l)
	}
}

// Shutdown closes the listeners at once and idle connections, and waits until the requests
// in flight have been answered, or for ctx's end. It does not wait for upgraded
// connections.
func (f *Front) Shutdown(ctx context.Context) error {
	f.close()
	for _, c := range f.all() {
		c.closeIdle()
	}
	// What is being served may still be handed to the server, which therefore ends last.
	if err := waitGroup(ctx, &f.plain); err != nil {
		return err
	}
	f.end()
	if err := f.server.Shutdown(ctx); err != nil {
		return err
	}
	return waitGroup(ctx, &f.rest)
}

// waitGroup waits for a group, at most until ctx ends.
func waitGroup(ctx context.Context, group *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() { // ends with the group, at the latest after Close
		group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close cuts everything.
func (f *Front) Close() error {
	f.close()
	f.end()
	for _, c := range f.all() {
		c.cut()
	}
	return f.server.Close()
}
