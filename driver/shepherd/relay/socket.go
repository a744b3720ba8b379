package relay

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// receive reads what has arrived into b, which is not empty; -1 and no error: nothing has.
func receive(fd int, b []byte, flags int) (int, error) {
	return move(unix.SYS_RECVFROM, fd, b, flags)
}

// send writes what there is room for of b, which is not empty; -1 and no error: for nothing.
func send(fd int, b []byte) (int, error) {
	return move(unix.SYS_SENDTO, fd, b, unix.MSG_NOSIGNAL)
}

// move moves what can be moved at once. That takes microseconds and never waits, so the runtime
// is not told of it: telling it is a tenth of what a small answer costs a relay.
func move(call uintptr, fd int, b []byte, flags int) (int, error) {
	n, _, err := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)), uintptr(flags|unix.MSG_DONTWAIT), 0, 0)
	switch err {
	case 0:
		return int(n), nil
	case unix.EAGAIN, unix.EINTR: // it is told again what can be moved
		return -1, nil
	}
	return -1, err
}
