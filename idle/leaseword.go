package idle

import (
	"sync/atomic"
	"time"
)

// leaseWord is a group's activity: how many requests hold a lease, and whether the gate is
// shut, in one atomic word, so that shutting it while nothing is in flight is one
// compare-and-swap that no request can slip past. The lowest bit is the shut bit; a
// request counts two.
type leaseWord struct {
	word atomic.Int64
	last atomic.Int64 // when the last request ended, ns since the loop's epoch; 0: none yet
}

const shutBit = 1

// take counts a request and reports whether the gate stands open.
func (w *leaseWord) take() bool { return w.word.Add(2)&shutBit == 0 }

// give uncounts a request. The stamp comes first, so that whoever reads a count of zero
// and then the stamp never misses the end of a request.
func (w *leaseWord) give(at time.Duration) {
	w.last.Store(max(int64(at), 1))
	w.word.Add(-2)
}

// read returns how many requests are counted and when the last one ended.
func (w *leaseWord) read() (inFlight int64, last time.Duration) {
	inFlight = w.word.Load() >> 1
	return inFlight, time.Duration(w.last.Load())
}

// shutIdle shuts the gate if nothing is in flight and reports whether it did.
func (w *leaseWord) shutIdle() bool { return w.word.CompareAndSwap(0, shutBit) }

func (w *leaseWord) shut() { w.word.Or(shutBit) }
func (w *leaseWord) open() { w.word.And(^shutBit) }
