package api

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// closedByPeer reports whether the peer has sent its FIN or RST. (A client that only half
// closes before its answer is taken to have left, as net/http takes it.)
func closedByPeer(fd int) bool {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return false
	}
	const closed, closeWait = 7, 8 // enum in the kernel's include/net/tcp_states.h
	return info.State == closeWait || info.State == closed
}

// hasInput reports whether reading would not block: there are bytes, an end or an error.
func hasInput(fd int) bool {
	var b [1]byte
	_, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err != syscall.EAGAIN
}
