package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoFreezer: this machine, or these rights, have no freezer for the task.
var ErrNoFreezer = errors.New("there is no cgroup freezer")

// Freezer is the kind of freezer that the task has, "" for none.
func (g *Group) Freezer() string {
	switch {
	case g.unified != "" && exists(g.unified, "cgroup.freeze"):
		return FreezerV2
	case g.legacy["freezer"] != "" && exists(g.legacy["freezer"], "freezer.state"):
		return FreezerV1
	}
	return ""
}

// Freeze stops every process of the task and returns when all stand still. When ctx ends
// before, they run on.
//
// Sources: kernel admin-guide/cgroup-v2.rst "cgroup.freeze", cgroup-v1/freezer-subsystem.rst.
func (g *Group) Freeze(ctx context.Context) error {
	var err error
	kind := g.Freezer()
	if kind == "" {
		return ErrNoFreezer
	}
	g.still.set(true)
	switch kind {
	case FreezerV2:
		err = g.freezeUnified(ctx)
	case FreezerV1:
		err = g.freezeLegacy(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot freeze: %w", err), g.Thaw())
	}
	g.swapWhileFrozen(true)
	return nil
}

// Thaw lets the task's processes run; it changes nothing where they do.
func (g *Group) Thaw() error {
	var err error
	switch g.Freezer() {
	case FreezerV2:
		err = write(g.unified, "cgroup.freeze", "0")
	case FreezerV1:
		err = write(g.legacy["freezer"], "freezer.state", "THAWED")
	}
	if err == nil {
		g.still.set(false)
		g.swapWhileFrozen(false)
	}
	return err
}

// lookAgain bounds how long a freeze that was not told of goes unseen.
const lookAgain = 10 * time.Millisecond

func (g *Group) freezeUnified(ctx context.Context) error {
	events, err := os.Open(filepath.Join(g.unified, "cgroup.events"))
	if err != nil {
		return err
	}
	defer events.Close()
	if err := write(g.unified, "cgroup.freeze", "1"); err != nil {
		return err
	}
	var text [256]byte
	for ctx.Err() == nil {
		// read where it is polled: of what was never read, each poll says that it is new
		n, err := events.ReadAt(text[:], 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if keyed(string(text[:n]))["frozen"] == 1 {
			return nil
		}
		// the kernel tells a change of the file as POLLPRI
		fds := []unix.PollFd{{Fd: int32(events.Fd()), Events: unix.POLLPRI}}
		if _, err := unix.Poll(fds, int(lookAgain.Milliseconds())); err != nil &&
			!errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return context.Cause(ctx)
}

// freezeLegacy asks again and again: in v1 a process that forks at the wrong moment leaves
// the cgroup "FREEZING" until it is asked once more.
func (g *Group) freezeLegacy(ctx context.Context) error {
	dir := g.legacy["freezer"]
	for ctx.Err() == nil {
		if err := write(dir, "freezer.state", "FROZEN"); err != nil {
			return err
		}
		state, err := os.ReadFile(filepath.Join(dir, "freezer.state"))
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(state)) == "FROZEN" {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	return context.Cause(ctx)
}
