package sockdiag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Accepted reports whether a process has taken the connection that client has made to server,
// one of this host's own: it has accepted it, or has ended it already. Until then it waits in
// the kernel's queue, complete or not. It asks for that one socket, so it costs little however
// many there are.
func Accepted(server, client netip.AddrPort) (bool, error) {
	taken := false
	err := ask(exactly(server, client), func(m []byte) {
		switch m[1] {
		case synRecv:
		case established, closeWait:
			taken = inode(m) != 0
		case listening: // in its place: the connection itself is no more
			taken = true
		default: // its server has ended it
			taken = true
		}
	})
	if errors.Is(err, unix.ENOENT) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot ask for a connection: %w", err)
	}
	return taken, nil
}

// ask sends one request and calls see with the one answer to it.
func ask(request []byte, see func([]byte)) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	buf := make([]byte, 1<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err == nil {
			_, err = parse(buf[:n], see)
		}
		return err
	}
}

// exactly asks for the socket of server's side.
func exactly(server, client netip.AddrPort) []byte {
	family := byte(unix.AF_INET)
	if server.Addr().Is6() {
		family = unix.AF_INET6
	}
	request := query{states: ^uint32(0), port: server.Port()}.request(family)
	order := binary.NativeEndian
	order.PutUint16(request[6:], unix.NLM_F_REQUEST) // of one, not of all
	id := request[unix.NLMSG_HDRLEN+8:]              // struct inet_diag_sockid
	binary.BigEndian.PutUint16(id[2:], client.Port())
	copy(id[4:], server.Addr().AsSlice())
	copy(id[20:], client.Addr().AsSlice())
	order.PutUint32(id[40:], ^uint32(0)) // whatever its cookie is
	order.PutUint32(id[44:], ^uint32(0))
	return request
}
