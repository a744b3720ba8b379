package shepherd

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// keepOut has the kernel drop what newcomers send to the port, so that nobody is accepted
// by an application that is about to end. They send again, after a second at first, and
// find the port open by then; to them the way is a slow one, not one that is closed.
//
// Source: socket(7), SO_ATTACH_FILTER; on a listening socket the filter sees SYNs and the
// ACKs that complete a connection, and nothing of those that are complete.
func (p *socketPort) keepOut() error {
	drop := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0}
	filter := unix.SockFprog{Len: 1, Filter: &drop}
	err := p.control(func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter)
	})
	if err != nil {
		return fmt.Errorf("cannot keep connections out: %w", err)
	}
	return nil
}

// letIn ends what keepOut began.
func (p *socketPort) letIn() error {
	err := p.control(func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
	})
	if err != nil {
		return fmt.Errorf("cannot let connections in again: %w", err)
	}
	return nil
}

func (p *socketPort) control(do func(fd int) error) error {
	raw, err := p.socket.SyscallConn()
	var doErr error
	if err == nil {
		err = raw.Control(func(fd uintptr) { doErr = do(int(fd)) })
	}
	return p.unlessClosed(errors.Join(err, doErr))
}
