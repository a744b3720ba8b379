package frame

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// watch looks out for the caller's departure while what he has sent is not read, and closes
// left when he has hung up. stop ends it, and has to be called before the next read.
func (c *Call) watch() (left <-chan struct{}, stop func()) {
	gone := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		// asked at once, and whenever anything has happened to the connection
		err := c.raw.Read(hungUp)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			close(gone)
		}
	})
	return gone, func() {
		_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // a closed one has ended it
		watching.Wait()
		_ = c.conn.SetReadDeadline(time.Time{})
	}
}

// hungUp reports whether the other side has closed the connection for both ways. One who has
// only no more to say may wait for an answer.
func hungUp(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd)}} // POLLHUP and POLLERR are always told
	n, err := unix.Poll(fds, 0)
	for err == unix.EINTR {
		n, err = unix.Poll(fds, 0)
	}
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}
