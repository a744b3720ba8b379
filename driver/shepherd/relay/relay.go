// Package relay passes bytes between two TCP connections, many of them inside the kernel, and
// recognises the requests that may be answered for an application that sleeps.
//
// It never looks into a stream that it passes on, and never decides whether to wake.
package relay

import "runtime"

const (
	// maxLoops bounds how many CPUs a relay uses.
	maxLoops = 2
	// crowd is how many pairs one loop serves before there is another one.
	crowd = 4
)

// Loops is how many of a relay's goroutines, each of which may use one CPU, serve so many
// pairs.
func Loops(pairs int) int { return min(1+pairs/crowd, maxLoops, runtime.NumCPU()) }

// Relay passes on what is sent over the connections of its pairs. The zero value is ready for
// use, and holds nothing while there are no pairs.
type Relay struct{ loops [maxLoops]loop }

// Rest has Woken called before anything more of a client's is passed on, because the
// application stands still. When Rest has returned nothing else goes to the application, but
// the bare end of a client whose end has come the other way before.
func (r *Relay) Rest() {
	for i := range r.loops {
		l := &r.loops[i]
		l.visit(l.rest)
	}
}

// Resume ends what Rest began, because the application is about to run, or is there no more: the
// kernel says so to whoever sends to it.
func (r *Relay) Resume() {
	for i := range r.loops {
		l := &r.loops[i]
		l.do(func() { l.resting = false })
	}
}

// Len is how many pairs have not ended.
func (r *Relay) Len() (n int) {
	for i := range r.loops {
		n += int(r.loops[i].pairs.Load())
	}
	return n
}

// Close ends all pairs, and whatever is joined from now on.
func (r *Relay) Close() {
	for i := range r.loops {
		l := &r.loops[i]
		l.visit(func() {
			l.closed = true
			l.cutAll()
		})
	}
}

// least is the loop that has the least to do, of those that there are for so many pairs.
func (r *Relay) least() *loop {
	least := &r.loops[0]
	for i := range Loops(r.Len()) {
		if l := &r.loops[i]; l.pairs.Load() < least.pairs.Load() {
			least = l
		}
	}
	return least
}
