// Package sockdiag asks the kernel how many connections a listening port has, and hears of
// those that have ended, by sock_diag(7). It sees only the network namespace it is in.
//
// It never guesses: what can't be read is an error.
package sockdiag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Conn is one connection of a listening port.
type Conn struct {
	Local, Remote netip.AddrPort
	Accepted      bool // a process has it open; else it waits in the kernel's queue
}

// Layout of struct inet_diag_req_v2 and inet_diag_msg (linux/inet_diag.h).
const (
	requestSize = 56
	messageSize = 72
	portOffset  = 4 // of the local port in both, after four bytes and, in a request, four more
	sockDiag    = 20
	reqProtocol = 3 // INET_DIAG_REQ_PROTOCOL
)

// States as in the kernel's net/tcp_states.h.
const (
	established = 1
	synRecv     = 3
	finWait1    = 4
	finWait2    = 5
	closeWait   = 8
)

// inUse are the states in which an application may still have something to do: not those
// in which the kernel alone finishes.
const inUse = 1<<established | 1<<synRecv | 1<<finWait1 | 1<<finWait2 | 1<<closeWait

// Connections returns the connections that a listener at addr has, those that wait to be
// accepted included. An unspecified address matches any.
func Connections(addr netip.AddrPort) ([]Conn, error) {
	var kept []Conn
	wanted := addr.Addr().Unmap()
	err := dump(query{states: inUse, port: addr.Port()}, func(m []byte) {
		c, ok := connection(m)
		if ok && (wanted.IsUnspecified() || c.Local.Addr() == wanted) {
			kept = append(kept, c)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("cannot ask for connections: %w", err)
	}
	return kept, nil
}

// query says which sockets are asked for.
type query struct {
	states   uint32 // a bit for each
	port     uint16 // local; 0: any
	protocol uint32 // 0: TCP
}

// dump asks for the sockets of both families and calls see with each struct inet_diag_msg.
func dump(q query, see func([]byte)) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		err := unix.Sendto(fd, q.request(family), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
		if err == nil {
			err = receive(fd, see)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (q query) request(family byte) []byte {
	request := make([]byte, unix.NLMSG_HDRLEN+requestSize)
	order := binary.NativeEndian
	order.PutUint32(request[0:], uint32(len(request)))
	order.PutUint16(request[4:], sockDiag)
	order.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := request[unix.NLMSG_HDRLEN:]
	body[0], body[1] = family, unix.IPPROTO_TCP
	order.PutUint32(body[4:], q.states)
	binary.BigEndian.PutUint16(body[8:], q.port)
	if q.protocol != 0 {
		request = order.AppendUint16(request, 8) // a struct nlattr and its value
		request = order.AppendUint16(request, reqProtocol)
		request = order.AppendUint32(request, q.protocol)
		order.PutUint32(request[0:], uint32(len(request)))
	}
	return request
}

// receive reads an answer to its end.
func receive(fd int, see func([]byte)) error {
	buf := make([]byte, 16<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		done, err := parse(buf[:n], see)
		if err != nil || done {
			return err
		}
	}
}

// parse reads the messages of one datagram and reports whether the dump is complete.
func parse(data []byte, see func([]byte)) (bool, error) {
	for len(data) >= unix.NLMSG_HDRLEN {
		size := int(binary.NativeEndian.Uint32(data))
		kind := binary.NativeEndian.Uint16(data[4:])
		flags := binary.NativeEndian.Uint16(data[6:])
		if size < unix.NLMSG_HDRLEN || size > len(data) {
			return false, errors.New("a truncated message")
		}
		body := data[unix.NLMSG_HDRLEN:size]
		switch {
		case flags&unix.NLM_F_DUMP_INTR != 0:
			return false, errors.New("the list changed while it was read")
		case kind == unix.NLMSG_DONE:
			return true, nil
		case kind == unix.NLMSG_ERROR:
			return false, netlinkError(body)
		case kind == sockDiag && len(body) >= messageSize:
			see(body)
		}
		data = data[min(len(data), (size+3)&^3):]
	}
	return false, nil
}

func netlinkError(body []byte) error {
	if len(body) < 4 {
		return errors.New("a truncated message")
	}
	return unix.Errno(-int32(binary.NativeEndian.Uint32(body)))
}

// connection reads one struct inet_diag_msg. A half-closed connection that no process has
// open any more is not one of the application's.
func connection(m []byte) (Conn, bool) {
	if state := m[1]; (state == finWait1 || state == finWait2) && inode(m) == 0 {
		return Conn{}, false
	}
	local, remote := endpoints(m)
	return Conn{Local: local, Remote: remote, Accepted: inode(m) != 0}, true
}

func endpoints(m []byte) (local, remote netip.AddrPort) {
	size := 4
	if m[0] == unix.AF_INET6 {
		size = 16
	}
	src, _ := netip.AddrFromSlice(m[8 : 8+size]) // 4 or 16 bytes make an address
	dst, _ := netip.AddrFromSlice(m[24 : 24+size])
	local = netip.AddrPortFrom(src.Unmap(), binary.BigEndian.Uint16(m[portOffset:]))
	remote = netip.AddrPortFrom(dst.Unmap(), binary.BigEndian.Uint16(m[portOffset+2:]))
	return local, remote
}
