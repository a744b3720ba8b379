package shepherd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"doze/idle"

	"golang.org/x/sys/unix"
)

const (
	// pressed is the PSI trigger: 200 ms of stall within 2 s, the window that unprivileged
	// processes may ask for (kernel accounting/psi.rst).
	pressed = "some 200000 2000000"
	// stagger spreads the tasks of a machine, so that they do not all park at once.
	stagger = 2 * time.Second
)

// pressure tells when memory is short. A thread of its own waits for it: a PSI trigger is
// told once, to whoever polls first, so it can't stand behind Go's poller.
type pressure struct {
	trigger     int
	end, cancel *os.File // a pipe
}

// openPressure returns nil where the kernel has no PSI, or not for us.
func openPressure(path string) (*pressure, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch err {
	case nil:
	case unix.ENOENT, unix.EACCES, unix.EPERM, unix.EROFS, unix.EOPNOTSUPP:
		return nil, nil
	default:
		return nil, fmt.Errorf("cannot watch memory pressure: %w", err)
	}
	p := &pressure{trigger: fd}
	if _, err = unix.Write(fd, []byte(pressed+"\x00")); err == nil {
		p.end, p.cancel, err = os.Pipe()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot watch memory pressure: %w", err), unix.Close(fd))
	}
	return p, nil
}

// wait returns true when memory is short, false after stop.
func (p *pressure) wait() bool {
	fds := []unix.PollFd{
		{Fd: int32(p.trigger), Events: unix.POLLPRI},
		{Fd: int32(p.end.Fd()), Events: unix.POLLIN},
	}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || fds[1].Revents != 0 || fds[0].Revents&unix.POLLERR != 0:
			return false
		case fds[0].Revents&unix.POLLPRI != 0:
			return true
		}
	}
}

func (p *pressure) stop() { _ = p.cancel.Close() } // twice at worst

func (p *pressure) close() {
	p.stop()
	_ = p.end.Close() // nothing is written to either
	_ = unix.Close(p.trigger)
}

// watchPressure parks the task when memory is short while it is frozen, if it may park.
// The trigger exists only while the task is frozen.
func (t *task) watchPressure(ctx context.Context) error {
	if t.spec.ParkAfter == 0 {
		return nil
	}
	for {
		if !t.awaitDepth(ctx, func(d idle.Depth) bool { return d == idle.Freeze }) {
			return nil
		}
		if !t.parkUnderPressure(ctx) {
			return nil
		}
	}
}

// parkUnderPressure watches until the task is no longer frozen, and reports whether to go
// on when it is again.
func (t *task) parkUnderPressure(ctx context.Context) bool {
	p, err := openPressure(t.spec.Pressure)
	if err != nil {
		t.log.Warn("memory pressure is not watched", "err", err)
	}
	if p == nil {
		return false
	}
	defer p.close()
	watching, done := context.WithCancel(ctx)
	var thaw sync.WaitGroup
	thaw.Go(func() {
		t.awaitDepth(watching, func(d idle.Depth) bool { return d != idle.Freeze })
		p.stop()
	})
	short := p.wait()
	done()
	thaw.Wait()
	if short && pause(ctx, rand.N(stagger)) {
		if err := t.group.Deepen(ctx, idle.Park, "memory is short"); err != nil {
			t.log.Info("cannot park under memory pressure", "err", err)
		}
	}
	return pause(ctx, stagger)
}

// awaitDepth waits for the process's depth, and reports whether it came before ctx or the
// task ended.
func (t *task) awaitDepth(ctx context.Context, is func(idle.Depth) bool) bool {
	for {
		_, depth, changed := t.look()
		if is(depth) {
			return true
		}
		select {
		case <-changed:
		case <-t.ended:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
