package drivers

import (
	"context"
	"sync"
	"time"
)

// eventsKept is how many events wait for an agent to ask for them: between two
// agents, or before the first.
const eventsKept = 256

// EventLog is an EventSource to embed in a driver: what is emitted goes to every
// stream; what nobody was there to hear goes to the first that comes. The zero
// value is ready for use.
type EventLog struct {
	mu      sync.Mutex
	streams map[*eventQueue]struct{}
	unheard []Event       // the newest eventsKept
	quiet   chan struct{} // closed when a stream has sent all it had; nil: nobody waits for it
}

// eventQueue holds what one stream has not yet sent; only the newest eventsKept.
type eventQueue struct {
	events  []Event
	sending bool          // one that is not among them any more
	wake    chan struct{} // holds one
}

// Emit sends an event. It never blocks: when nobody reads, the oldest are
// dropped. A zero At becomes now.
func (e *EventLog) Emit(ev Event) {
	if ev.At.IsZero() {
		ev.At = time.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.streams) == 0 {
		e.unheard = keepNewest(append(e.unheard, ev))
		return
	}
	for q := range e.streams {
		q.events = keepNewest(append(q.events, ev))
		select {
		case q.wake <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// Events implements EventSource.
func (e *EventLog) Events(ctx context.Context, send func(Event) error) error {
	q := e.open()
	defer e.close(q)
	for {
		for {
			ev, ok := e.next(q)
			if !ok {
				break
			}
			if err := send(ev); err != nil {
				e.putBack(q, ev)
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-q.wake:
		}
	}
}

// Settle waits until every stream has sent what was emitted before, or ctx ends. Without a
// stream there is nothing to wait for.
func (e *EventLog) Settle(ctx context.Context) {
	for {
		quiet := e.busy()
		if quiet == nil {
			return
		}
		select {
		case <-quiet:
		case <-ctx.Done():
			return
		}
	}
}

// busy returns what is closed when it is worth looking again, nil where all is sent.
func (e *EventLog) busy() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	for q := range e.streams {
		if q.sending || len(q.events) > 0 {
			if e.quiet == nil {
				e.quiet = make(chan struct{})
			}
			return e.quiet
		}
	}
	return nil
}

// tellQuiet has those who wait look again. The caller holds mu.
func (e *EventLog) tellQuiet() {
	if e.quiet != nil {
		close(e.quiet)
		e.quiet = nil
	}
}

func (e *EventLog) open() *eventQueue {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := &eventQueue{events: e.unheard, wake: make(chan struct{}, 1)}
	e.unheard = nil
	if e.streams == nil {
		e.streams = map[*eventQueue]struct{}{}
	}
	e.streams[q] = struct{}{}
	return q
}

// close leaves what a last stream has not sent to the next.
func (e *EventLog) close(q *eventQueue) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.streams, q)
	e.tellQuiet()
	if len(e.streams) == 0 {
		e.unheard = q.events
	}
}

func (e *EventLog) next(q *eventQueue) (Event, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if q.sending = len(q.events) > 0; !q.sending {
		e.tellQuiet()
		return Event{}, false
	}
	ev := q.events[0]
	q.events = q.events[1:]
	return ev, true
}

func (e *EventLog) putBack(q *eventQueue, ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q.events = keepNewest(append([]Event{ev}, q.events...))
}

func keepNewest(events []Event) []Event {
	return events[max(0, len(events)-eventsKept):]
}
