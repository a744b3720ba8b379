package shepherd

import (
	"context"
	"sync"
	"time"
)

const (
	// keepEvents is how many events wait for a reader.
	keepEvents = 64
	// sparse is how often at most an ordinary sleep or wake is told, and rare how often one
	// and the same failure is.
	sparse = 30 * time.Second
	rare   = 5 * time.Minute
)

// journal holds the events that nobody has been told yet.
type journal struct {
	mu         sync.Mutex
	seq, told  uint64
	events     []Event // oldest first
	changed    chan struct{}
	lastOf     map[string]time.Time // by what they say
	suppressed map[string]int
}

func newJournal() *journal {
	return &journal{
		changed:    make(chan struct{}),
		lastOf:     map[string]time.Time{},
		suppressed: map[string]int{},
	}
}

// add writes an event down. One that says what was said a short while ago is left out, and
// counted.
func (j *journal) add(now time.Time, e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if what, every := e.repeats(); every > 0 {
		if last, ok := j.lastOf[what]; ok && now.Sub(last) < every {
			j.suppressed[what]++
			return
		}
		if len(j.lastOf) >= keepEvents { // failures that never say the same
			clear(j.lastOf)
			clear(j.suppressed)
		}
		j.lastOf[what] = now
		e.Suppressed, j.suppressed[what] = j.suppressed[what], 0
	}
	j.seq++
	e.Seq, e.At = j.seq, now
	if len(j.events) == keepEvents {
		j.events = append(j.events[:0], j.events[1:]...)
	}
	j.events = append(j.events, e)
	j.signal()
}

// signal has those who wait look again. The caller holds mu.
func (j *journal) signal() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// repeats returns what an event says that may be said again and again, and how often at
// most it is told; 0: always.
func (e Event) repeats() (what string, every time.Duration) {
	switch e.Kind {
	case EventReady, EventFrozen, EventParked, EventStarted:
		return string(e.Kind), sparse
	case EventUnheard:
		return e.Message, sparse
	case EventFailed, EventLog, EventKilled:
		return e.Message, rare
	case EventLimit, EventOOM:
		return string(e.Kind), rare
	}
	return "", 0
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
	j.signal()
}
