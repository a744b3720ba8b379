package api

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"

	"doze/idle"
)

// LeaseStore keeps the leases of a group where a restart of doze finds them again.
type LeaseStore interface {
	// SaveLeases replaces what is kept for the group; an empty map removes it. The error is
	// told to the caller who took or gave back the lease.
	SaveLeases(ctx context.Context, id idle.GroupID, leases map[string]time.Time) error
}

// saveTimeout bounds one save, and with it the answer to a caller.
const saveTimeout = 10 * time.Second

// leaseSaver saves one group's leases one after another, so that the last change is the
// last to be saved. Groups share one of a few turns: a store that hangs delays a few of
// them, for saveTimeout.
type leaseSaver struct {
	store LeaseStore
	seed  maphash.Seed
	turns []chan struct{} // each holds one token while it is free
}

func newLeaseSaver(store LeaseStore) leaseSaver {
	s := leaseSaver{store: store, seed: maphash.MakeSeed(), turns: make([]chan struct{}, 64)}
	for i := range s.turns {
		s.turns[i] = make(chan struct{}, 1)
		s.turns[i] <- struct{}{}
	}
	return s
}

// save stores the leases that the group has when its turn comes, and returns what the caller
// should know if that fails. It goes on when the caller leaves: the lease holds already.
func (s leaseSaver) save(ctx context.Context, g *idle.Group) (warnings []string) {
	if s.store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	turn := s.turns[maphash.Comparable(s.seed, g.ID())%uint64(len(s.turns))]
	select {
	case <-turn:
		defer func() { turn <- struct{}{} }()
	case <-ctx.Done():
		return []string{unsaved(ctx.Err())}
	}
	if err := s.store.SaveLeases(ctx, g.ID(), g.Status().Leases); err != nil {
		return []string{unsaved(err)}
	}
	return nil
}

func unsaved(err error) string {
	return fmt.Sprintf("the leases could not be saved: until the next change, a restart of doze "+
		"goes by the older ones: %v", err)
}
