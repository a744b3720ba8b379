// Package watch waits for a file descriptor to become ready without reading from it and
// without a thread of its own: for a listening socket that is somebody else's to accept
// from, and for a PSI trigger, which only tells by POLLPRI.
package watch

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Watch is one descriptor under watch. It is disarmed at first; an event disarms it again.
// An epoll instance of its own stands between the descriptor and Go's poller, so a disarmed
// one costs nothing, however busy the descriptor is.
type Watch struct {
	fd     int
	events uint32
	epoll  *os.File
	raw    syscall.RawConn
}

// New watches fd for events (unix.EPOLLIN, unix.EPOLLPRI). fd must stay open for as long.
func New(fd int, events uint32) (*Watch, error) {
	w := &Watch{fd: fd, events: events}
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot make epoll: %w", err)
	}
	if err := unix.SetNonblock(epfd, true); err != nil {
		return nil, fmt.Errorf("cannot make epoll: %w", err)
	}
	w.epoll = os.NewFile(uintptr(epfd), "epoll")
	if w.raw, err = w.epoll.SyscallConn(); err == nil {
		err = w.Arm() // tells whether it can be watched at all
	}
	if err == nil {
		err = w.Disarm()
	}
	if err != nil {
		_ = w.epoll.Close() // it was never used
		return nil, err
	}
	return w, nil
}

// Arm has Wait return for the next event, or for one that is there already.
func (w *Watch) Arm() error {
	return w.control(func(epfd int) error {
		e := unix.EpollEvent{Fd: int32(w.fd), Events: w.events | unix.EPOLLONESHOT}
		err := unix.EpollCtl(epfd, unix.EPOLL_CTL_MOD, w.fd, &e)
		if err == unix.ENOENT {
			err = unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, w.fd, &e)
		}
		return err
	})
}

// Disarm has Wait go on waiting. The descriptor leaves the epoll instance, which would tell of
// errors and hang-ups even where it is asked for nothing.
func (w *Watch) Disarm() error {
	return w.control(func(epfd int) error {
		err := unix.EpollCtl(epfd, unix.EPOLL_CTL_DEL, w.fd, nil)
		if err == unix.ENOENT {
			return nil
		}
		return err
	})
}

func (w *Watch) control(do func(epfd int) error) error {
	var ctlErr error
	err := w.raw.Control(func(epfd uintptr) { ctlErr = do(int(epfd)) })
	if err == nil {
		err = ctlErr
	}
	if err != nil {
		return fmt.Errorf("cannot watch: %w", err)
	}
	return nil
}

// Wait returns nil after an event on the armed descriptor, or an error after Close.
func (w *Watch) Wait() error {
	var waitErr error
	err := w.raw.Read(func(epfd uintptr) bool {
		var events [1]unix.EpollEvent
		n, err := unix.EpollWait(int(epfd), events[:], 0)
		if err == unix.EINTR {
			n, err = 1, nil // as good as an event: whoever waits looks for himself
		}
		waitErr = err
		return n > 0 || err != nil
	})
	if err != nil {
		return err
	}
	return waitErr
}

// Close ends Wait, now and later. The descriptor itself stays open.
func (w *Watch) Close() error { return w.epoll.Close() }
