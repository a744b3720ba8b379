package api

import (
	"net"
	"syscall"
	"time"
)

// frontWatch is how often the clients of exchanges that take longer are looked after.
const frontWatch = 250 * time.Millisecond

// watchClients notices clients that have left while the front waits for an answer to their
// request: nobody reads from their connections then. It runs until the
// front has no connections of its own any more.
func (f *Front) watchClients() {
	ticker := time.NewTicker(frontWatch)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-f.over:
			return
		}
		for _, c := range f.all() {
			c.watch()
		}
	}
}

// all returns the connections that there are now.
func (f *Front) all() []*frontConn {
	f.mu.Lock()
	defer f.mu.Unlock()
	conns := make([]*frontConn, 0, len(f.conns))
	for c := range f.conns {
		conns = append(conns, c)
	}
	return conns
}

// isClosedByPeer reports whether the other side has closed a connection, as far as can be
// known without reading.
func isClosedByPeer(conn net.Conn) bool {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true // it is closed on this side
	}
	gone := true
	err = raw.Control(func(fd uintptr) { gone = closedByPeer(int(fd)) })
	return gone || err != nil
}
