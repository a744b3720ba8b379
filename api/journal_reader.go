package api

import "doze/idle"

// Reasons for a reset, as a client is told them.
const (
	lostOther = "the position is not one of this process: doze has been restarted, or it " +
		"never gave it"
	lostOld  = "the position is older than what doze still remembers"
	lostSlow = "the reader was too slow"
)

// maxBatch bounds what one call of next returns, and with it the time that Record waits.
const maxBatch = 64

// journalReader reads a Journal from a position on. It belongs to one goroutine.
type journalReader struct {
	journal *Journal
	next    uint64        // the position to read next
	lost    string        // why a reset is due; "": none is
	signal  chan struct{} // holds one token when there may be something to read
}

// journalEntry is a transition and its position.
type journalEntry struct {
	id string
	idle.Transition
}

// read returns a reader that begins after the position lastID, or with what comes next when
// lastID is "". From a position that is not known it begins with the oldest transition there
// is, and says that it has lost some. The caller must call close.
func (j *Journal) read(lastID string) *journalReader {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &journalReader{journal: j, next: j.last + 1, signal: make(chan struct{}, 1)}
	if lastID != "" {
		r.resume(lastID)
	}
	j.readers[r] = struct{}{}
	r.wake()
	return r
}

// resume sets the position; the journal's lock is held.
func (r *journalReader) resume(lastID string) {
	n, ours := r.journal.parse(lastID)
	switch {
	case !ours || n > r.journal.last:
		r.next, r.lost = r.journal.oldest(), lostOther
	case n+1 < r.journal.oldest():
		r.next, r.lost = r.journal.oldest(), lostOld
	default:
		r.next = n + 1
	}
}

// wake leaves a token; the journal's lock is held.
func (r *journalReader) wake() {
	select {
	case r.signal <- struct{}{}:
	default: // one is there already
	}
}

// batch returns the next transitions, none when there are none yet, and why some were lost
// before them ("": none were).
func (r *journalReader) batch() (entries []journalEntry, lost string) {
	j := r.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if oldest := j.oldest(); r.next < oldest {
		r.next, r.lost = oldest, lostSlow
	}
	lost, r.lost = r.lost, ""
	for ; r.next <= j.last && len(entries) < maxBatch; r.next++ {
		t := j.ring[r.next%uint64(len(j.ring))]
		entries = append(entries, journalEntry{j.id(r.next), t})
	}
	if r.next <= j.last {
		r.wake()
	}
	return entries, lost
}

// position is that of the last transition that batch returned, or where reading began.
func (r *journalReader) position() string { return r.journal.id(r.next - 1) }

func (r *journalReader) close() {
	r.journal.mu.Lock()
	defer r.journal.mu.Unlock()
	delete(r.journal.readers, r)
}
