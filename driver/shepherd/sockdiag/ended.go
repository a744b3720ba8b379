package sockdiag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Groups that sock_diag broadcasts the end of a socket to (linux/sock_diag.h).
const (
	tcpDestroyed  = 1
	tcp6Destroyed = 3
)

// Ended hears of the connections of one local port that have ended. A filter in the kernel
// keeps those of other ports away.
type Ended struct {
	file *os.File
	raw  syscall.RawConn
	buf  []byte
}

// Listen begins to listen for the ends of connections with this local port.
func Listen(port uint16) (*Ended, error) {
	fd, err := unix.Socket(unix.AF_NETLINK,
		unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for ended connections: %w", err)
	}
	e := &Ended{file: os.NewFile(uintptr(fd), "sock_diag"), buf: make([]byte, 1<<10)}
	err = attach(fd, port)
	if err == nil {
		groups := uint32(1<<(tcpDestroyed-1) | 1<<(tcp6Destroyed-1))
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups})
	}
	if err == nil {
		e.raw, err = e.file.SyscallConn()
	}
	if err != nil {
		_ = e.file.Close() // it was never used
		return nil, fmt.Errorf("cannot listen for ended connections: %w", err)
	}
	return e, nil
}

// attach lets only messages about the port through: classic BPF, whose loads are big
// endian, as the port is.
func attach(fd int, port uint16) error {
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: unix.NLMSG_HDRLEN + portOffset},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(port)},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	fprog := &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, fprog)
}

// Next waits for connections to end and returns the remote ends of some of them. lost says
// that there were more than the kernel kept. The error is for after Close.
func (e *Ended) Next() (remote []netip.AddrPort, lost bool, err error) {
	var recvErr error
	n := 0
	err = e.raw.Read(func(fd uintptr) bool {
		n, _, recvErr = unix.Recvfrom(int(fd), e.buf, unix.MSG_DONTWAIT)
		return recvErr != unix.EAGAIN
	})
	switch {
	case err != nil:
		return nil, false, err
	case errors.Is(recvErr, unix.ENOBUFS):
		return nil, true, nil
	case errors.Is(recvErr, unix.EINTR):
		return nil, false, nil
	case recvErr != nil:
		return nil, false, recvErr
	}
	return ends(e.buf[:n]), false, nil
}

// ends reads the remote ends from one datagram.
func ends(data []byte) []netip.AddrPort {
	var all []netip.AddrPort
	for len(data) >= unix.NLMSG_HDRLEN {
		size := int(binary.NativeEndian.Uint32(data))
		if size < unix.NLMSG_HDRLEN || size > len(data) {
			return all
		}
		if body := data[unix.NLMSG_HDRLEN:size]; len(body) >= messageSize {
			_, remote := endpoints(body)
			all = append(all, remote)
		}
		data = data[min(len(data), (size+3)&^3):]
	}
	return all
}

// Close ends Next.
func (e *Ended) Close() error { return e.file.Close() }
