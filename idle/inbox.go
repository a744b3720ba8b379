package idle

import "sync"

// message is an event on its way to a group's machine.
type message struct {
	group *Group
	event Event
	reply chan<- answer // with room for one; nil: nobody waits
}

// inbox hands messages to the loop in order. Putting never blocks: it is called from
// request paths and from the callbacks of gates. It is bounded by its senders: held
// requests of one group share one message.
type inbox struct {
	mu       sync.Mutex
	messages []message
	spare    []message
	arrived  chan struct{} // with room for one
}

func (b *inbox) put(m message) {
	b.mu.Lock()
	b.messages = append(b.messages, m)
	b.mu.Unlock()
	select {
	case b.arrived <- struct{}{}:
	default: // the loop knows already
	}
}

// maxSpare is the largest backing array that is kept for the next batch.
const maxSpare = 1024

// take returns what has arrived; it is valid until the next take.
func (b *inbox) take() []message {
	clear(b.spare)
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := b.messages
	b.messages = b.spare[:0]
	b.spare = nil
	if cap(batch) <= maxSpare {
		b.spare = batch
	}
	return batch
}
