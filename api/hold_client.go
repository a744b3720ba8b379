package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"
)

// errClientLeft: the connection of a held request has ended.
var errClientLeft = errors.New("the client has left")

type connKey struct{}

// withConn is the server's ConnContext: it lets a held request find its connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// watchClient calls left when the client of a held request closes its connection. The
// returned function ends the watch and waits for that.
//
// net/http itself notices a client that leaves, but over HTTP/1 only once the body has been
// read, which a held request's is not. There the connection's TCP state is looked at
// whenever the kernel reports something new about it, without taking a byte off it. A
// client whose close is queued behind more of the body than the kernel's buffers take
// cannot be noticed before the body is read: it keeps its place until the deadline.
func watchClient(r *http.Request, left func()) (unwatch func()) {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	socket, ok := conn.(syscall.Conn)
	if !ok || r.ProtoMajor != 1 || r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return func() {} // not watched: the deadline bounds the hold
	}
	done := make(chan struct{})
	go func() { // owned by the request; ended by the read deadline below
		defer close(done)
		gone := false
		err := raw.Read(func(fd uintptr) bool {
			gone = closedByPeer(int(fd))
			return gone
		})
		if err == nil && gone {
			left()
		}
	}()
	return func() {
		// Fails only on a closed connection, which ends the watch as well.
		_ = conn.SetReadDeadline(time.Unix(1, 0))
		<-done
		_ = conn.SetReadDeadline(time.Time{})
	}
}
