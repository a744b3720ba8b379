package relay

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// receive and send move what can be moved at once between a connection and b, which is not
// empty; -1 and no error: nothing can. They take microseconds and never wait, so the runtime
// is not told of them: telling it is a tenth of what a small answer costs a relay.

func receive(fd int, b []byte) (int, error) {
	n, _, err := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return moved(n, err)
}

func send(fd int, b []byte) (int, error) {
	n, _, err := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return moved(n, err)
}

func moved(n uintptr, err unix.Errno) (int, error) {
	switch err {
	case 0:
		return int(n), nil
	case unix.EAGAIN, unix.EINTR: // it is told again what can be moved
		return -1, nil
	}
	return -1, err
}
