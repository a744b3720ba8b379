package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"doze/idle"
)

// restoreBackoff bounds the pause before a Nomad that does not tell the leases is asked again.
const restoreBackoff = 30 * time.Second

// restorer takes up the keep-awake leases that an earlier process left in Nomad, for any
// number of groups that were found awake. What Nomad does not tell is asked for again: a
// lease that is forgotten puts a group to sleep that somebody needs.
type restorer struct {
	loop   *idle.Loop
	leases func(context.Context, idle.GroupID) (map[string]time.Time, error)
	log    *slog.Logger
	more   chan struct{} // holds a token when there is something to do

	mu      sync.Mutex // never held across anything that blocks
	waiting []idle.GroupID
}

func newRestorer(loop *idle.Loop, log *slog.Logger) *restorer {
	return &restorer{loop: loop, log: log, more: make(chan struct{}, 1)}
}

// add notes a group whose leases are to be restored; it never blocks.
func (r *restorer) add(id idle.GroupID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, id)
	select {
	case r.more <- struct{}{}:
	default: // it is told already
	}
}

func (r *restorer) next() (id idle.GroupID, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		r.waiting = nil
		return id, false
	}
	id, r.waiting = r.waiting[0], r.waiting[1:]
	return id, true
}

// run restores until ctx ends.
func (r *restorer) run(ctx context.Context) {
	failures := 0 // one after another
	for ctx.Err() == nil {
		id, ok := r.next()
		if !ok {
			select {
			case <-r.more:
			case <-ctx.Done():
			}
			continue
		}
		if r.try(ctx, id, failures == 0) {
			failures = 0
			continue
		}
		r.add(id) // behind the others, which may have better luck
		select {
		case <-time.After(min(time.Second<<min(failures, 10), restoreBackoff)):
		case <-ctx.Done():
		}
		failures++
	}
}

// try reports whether a group needs no further attempt.
func (r *restorer) try(ctx context.Context, id idle.GroupID, first bool) bool {
	err := r.restore(ctx, id)
	if err == nil || ctx.Err() != nil || r.loop.Group(id) == nil {
		return true
	}
	level := slog.LevelDebug
	if first {
		level = slog.LevelWarn
	}
	r.log.Log(ctx, level, "cannot restore keep-awake leases, trying again", "group", id, "error", err)
	return false
}

func (r *restorer) restore(ctx context.Context, id idle.GroupID) error {
	leases, err := r.leases(ctx, id)
	if err != nil {
		return err
	}
	group := r.loop.Group(id)
	for name, until := range leases {
		if group == nil || until.Before(time.Now()) {
			continue
		}
		if _, err := group.KeepAwake(ctx, name, until); err != nil {
			return err
		}
	}
	return nil
}
