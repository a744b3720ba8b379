package api

import "golang.org/x/sys/unix"

// closedByPeer reports whether the peer has sent its FIN or RST. (A client that only half
// closes before its answer is taken to have left, as net/http takes it.)
func closedByPeer(fd int) bool {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return false
	}
	const closeWait, closed = 8, 7 // enum in the kernel's include/net/tcp_states.h
	return info.State == closeWait || info.State == closed
}
