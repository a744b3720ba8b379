package api

import (
	"net"
	"sync/atomic"
	"time"
)

// clientStall is how long a client may leave unread what is there for it to read. It then
// is as good as gone, and would keep its group awake for ever.
const clientStall = 2 * time.Minute

// stall bounds each write to a client by a deadline, set anew only when half of it is over:
// a write may take between one half of clientStall and the whole.
type stall struct {
	until atomic.Int64 // Unix time in nanoseconds
}

func (s *stall) bound(conn net.Conn) {
	now := time.Now()
	if s.until.Load()-now.UnixNano() > int64(clientStall/2) {
		return
	}
	until := now.Add(clientStall)
	s.until.Store(until.UnixNano())
	_ = conn.SetWriteDeadline(until) // of a closed connection: the write will tell
}

// forget says that somebody else has set the deadline.
func (s *stall) forget() { s.until.Store(0) }
