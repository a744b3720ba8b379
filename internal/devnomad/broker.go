package devnomad

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
)

// bufferSize is Nomad's event_buffer_size: operations kept for late subscribers.
const bufferSize = 100

// batch is one operation's events and the link to the next one.
type batch struct {
	index  uint64
	events []*event
	ready  chan struct{} // closed when next is set
	next   *batch
}

// broker keeps the last operations in a linked list that subscribers walk.
// A dropped operation leaves no mark.
type broker struct {
	mu   sync.Mutex
	head *batch // oldest kept
	tail *batch // a placeholder for the next operation
	n    int

	// subs are the open subscriptions, closed at will (faults, ACL changes).
	subs map[*subscription]struct{}
}

func newBroker() *broker {
	b := &batch{ready: make(chan struct{})}
	return &broker{head: b, tail: b, subs: map[*subscription]struct{}{}}
}

// publish appends an operation; one without events is not kept.
func (b *broker) publish(index uint64, events []*event) {
	if len(events) == 0 {
		return
	}
	for _, e := range events {
		e.encoded, _ = json.Marshal(e) // plain structs of nomad/api always encode
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tail.index, b.tail.events = index, events
	next := &batch{ready: make(chan struct{})}
	b.tail.next = next
	close(b.tail.ready)
	b.tail = next
	if b.n++; b.n > bufferSize {
		b.head, b.n = b.head.next, bufferSize
	}
}

// subscribe finds where to start: index 0 at the oldest kept, else at the first
// not older than index; past the end it is the newest kept, sent once more.
func (b *broker) subscribe(s *subscription, index uint64) *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs[s] = struct{}{}
	if index == 0 {
		return b.head
	}
	last := b.head
	for at := b.head; at != b.tail; at = at.next {
		if at.index >= index {
			return at
		}
		last = at
	}
	return last
}

func (b *broker) unsubscribe(s *subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subs, s)
}

// closeAll ends every subscription for which f answers true; nil: all. cut says
// whether their connections end, too.
func (b *broker) closeAll(cut bool, f func(*subscription) bool) {
	b.each(func(s *subscription) {
		if f == nil || f(s) {
			s.close(cut)
		}
	})
}

// each calls f for every open subscription, without the broker's lock.
func (b *broker) each(f func(*subscription)) {
	b.mu.Lock()
	subs := slices.Collect(maps.Keys(b.subs))
	b.mu.Unlock()
	for _, s := range subs {
		f(s)
	}
}
