package api

import (
	"context"
	"time"
)

const (
	// paceSlots is how many new connections a target is given at once.
	paceSlots = 64
	// paceSettle is how long after it was made a connection counts as new, unless the
	// target answers on it earlier.
	paceSettle = 10 * time.Millisecond
)

// pace bounds how fast connections are made to one target: thousands of requests released
// at once would overrun its listen backlog. A connection holds a slot until the target has
// had time to accept it, so that a fast target sets its own pace and one that answers late
// still gets 6,400 new connections a second.
type pace struct {
	slots chan struct{}
}

func newPace() pace { return pace{slots: make(chan struct{}, paceSlots)} }

// enter takes a slot; it fails only when ctx ends.
func (p pace) enter(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p pace) leave() { <-p.slots }

// settle gives the slot back after a moment.
func (p pace) settle() { time.AfterFunc(paceSettle, p.leave) }
