package shepherd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"doze/driver/shepherd/watch"
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

// pressure tells when memory is short.
type pressure struct {
	file  *os.File
	watch *watch.Watch
}

// openPressure returns nil where the kernel has no PSI, or not for us.
func openPressure(path string) (*pressure, error) {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) ||
		errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot watch memory pressure: %w", err)
	}
	p := &pressure{file: file}
	if _, err = file.WriteString(pressed + "\x00"); err == nil {
		p.watch, err = watch.New(int(file.Fd()), unix.EPOLLPRI)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot watch memory pressure: %w", err), file.Close())
	}
	return p, nil
}

func (p *pressure) close() {
	_ = p.watch.Close() // nothing is written
	_ = p.file.Close()
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
	thawed, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.awaitDepth(thawed, func(d idle.Depth) bool { return d != idle.Freeze })
		p.close()
	}()
	if p.watch.Arm() == nil && p.watch.Wait() == nil && pause(ctx, rand.N(stagger)) {
		if err := t.group.Deepen(ctx, idle.Park, "memory is short"); err != nil {
			t.log.Info("cannot park under memory pressure", "err", err)
		}
		stop()
	}
	<-done
	return ctx.Err() == nil && pause(ctx, stagger)
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
