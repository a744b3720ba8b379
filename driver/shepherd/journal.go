package shepherd

import (
	"context"
	"sync"
	"time"
)

const (
	// keepEvents is how many events wait for a reader.
	keepEvents = 64
	// sparse is how often at most an ordinary sleep or wake is told.
	sparse = 30 * time.Second
)

// journal holds the events that nobody has been told yet.
type journal struct {
	mu         sync.Mutex
	seq, told  uint64
	events     []Event // oldest first
	changed    chan struct{}
	lastOf     map[EventKind]time.Time
	suppressed map[EventKind]int
}

func newJournal() *journal {
	return &journal{
		changed:    make(chan struct{}),
		lastOf:     map[EventKind]time.Time{},
		suppressed: map[EventKind]int{},
	}
}

// add writes an event down. Ordinary ones are left out, and counted, when there was one of
// their kind a short while ago.
func (j *journal) add(now time.Time, e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.Kind.ordinary() {
		if last := j.lastOf[e.Kind]; !last.IsZero() && now.Sub(last) < sparse {
			j.suppressed[e.Kind]++
			return
		}
		j.lastOf[e.Kind] = now
		e.Suppressed, j.suppressed[e.Kind] = j.suppressed[e.Kind], 0
	}
	j.seq++
	e.Seq, e.At = j.seq, now
	if len(j.events) == keepEvents {
		j.events = append(j.events[:0], j.events[1:]...)
	}
	j.events = append(j.events, e)
	close(j.changed)
	j.changed = make(chan struct{})
}

// ordinary events are those of a task that does what it is meant to.
func (k EventKind) ordinary() bool {
	switch k {
	case EventReady, EventFrozen, EventParked, EventStarted:
		return true
	}
	return false
}

// next waits for an event that nobody has been told.
func (j *journal) next(ctx context.Context) (Event, error) {
	for {
		j.mu.Lock()
		for _, e := range j.events {
			if e.Seq > j.told {
				j.told = e.Seq
				j.mu.Unlock()
				return e, nil
			}
		}
		changed := j.changed
		j.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

// untold gives an event back that could not be delivered.
func (j *journal) untold(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = min(j.told, e.Seq-1)
}
