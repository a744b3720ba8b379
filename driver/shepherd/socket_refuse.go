package shepherd

import (
	"context"

	"golang.org/x/sys/unix"
)

// refuse resets the connections that wait: in the kernel's queue they would wait for good.
// The caller knows that nobody else accepts.
func (p *socketPort) refuse() {
	err := p.control(func(fd int) error {
		for waits(fd) {
			conn, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
			if err != nil {
				return err
			}
			reset := unix.Linger{Onoff: 1} // says that nobody took it
			_ = unix.SetsockoptLinger(conn, unix.SOL_SOCKET, unix.SO_LINGER, &reset)
			_ = unix.Close(conn) // one that has left already
		}
		return nil
	})
	if err != nil {
		p.log.Warn("cannot refuse the connections that wait", "err", err)
	}
}

// waits reports whether a connection waits to be accepted.
func waits(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLIN != 0
}

// whileParked runs f if the task has no process, and keeps it so meanwhile.
func (t *task) whileParked(ctx context.Context, f func()) {
	if t.lock(ctx) != nil {
		return
	}
	defer t.unlock()
	if app, _, _ := t.look(); app == nil {
		f()
	}
}
