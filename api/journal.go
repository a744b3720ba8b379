package api

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"

	"doze/idle"
)

// Journal keeps the last transitions of all groups in a ring and tells its readers that
// there are new ones. Recording never waits for a reader: one that is too slow finds that
// what it wanted next is gone.
//
// Positions are numbered from 1 within an epoch, which is new with every Journal and so with
// every start of doze: a position of another process is never mistaken for one of ours.
type Journal struct {
	epoch string
	done  chan struct{} // closed by Close

	mu      sync.Mutex // never held across anything that can block
	ring    []idle.Transition
	last    uint64 // position of the newest transition; 0: none yet
	closed  bool
	readers map[*journalReader]struct{}
}

// NewJournal returns a Journal that remembers that many transitions, at least 1.
func NewJournal(size int) *Journal {
	return &Journal{
		epoch:   strings.ToLower(rand.Text()[:10]), // 50 bits: two starts do not share one
		done:    make(chan struct{}),
		ring:    make([]idle.Transition, max(size, 1)),
		readers: make(map[*journalReader]struct{}),
	}
}

// Record appends a transition. It never blocks, so that it can be an idle.Config's
// OnTransition.
func (j *Journal) Record(t idle.Transition) {
	if t.Wake != nil {
		wake := *t.Wake // the loop may go on writing to its own
		t.Wake = &wake
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	j.ring[j.last%uint64(len(j.ring))] = t
	for r := range j.readers {
		r.wake()
	}
}

// Close ends every reader, now and later, so that an HTTP server can shut down; Record still
// works. It may be called more than once.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		close(j.done)
	}
}

// Position is the newest transition's place in the event stream, for Last-Event-ID.
func (j *Journal) Position() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.id(j.last)
}

func (j *Journal) id(n uint64) string { return j.epoch + "-" + strconv.FormatUint(n, 10) }

// parse returns a position of this epoch; ok is false for any other text.
func (j *Journal) parse(id string) (n uint64, ok bool) {
	digits, ours := strings.CutPrefix(id, j.epoch+"-")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ours && err == nil
}

// oldest is the first position that the ring still has; last+1 when there is none.
func (j *Journal) oldest() uint64 {
	if size := uint64(len(j.ring)); j.last > size {
		return j.last - size + 1
	}
	return 1
}
