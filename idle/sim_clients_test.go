package idle_test

import (
	"slices"
	"time"

	"doze/idle"
)

// patience is how long a client waits in the simulation.
const patience = 30 * time.Second

// arrive is one request: counted on arrival, served if the gate is open, else held.
func (w *simWorld) arrive() {
	w.arrived++
	r := &simRequest{id: w.arrived}
	w.inFlight++
	if !w.shut && w.admitted {
		w.serve()
		return
	}
	w.held = append(w.held, r)
	w.ask()
	wait := patience
	if w.faults && w.chance(4) {
		wait = w.upTo(200 * time.Millisecond) // a client that leaves
	}
	w.after(wait, func() { w.leave(r) })
	if w.admitted { // draining: the health gate lets it pass though the word is shut
		w.releaseHeld()
	}
}

// ask tells the loop that somebody waits, once for all who do.
func (w *simWorld) ask() {
	if !w.posted {
		w.posted = true
		w.post(idle.Event{Kind: idle.RequestHeld, Cause: "request"})
	}
}

// leave is a client that gives up.
func (w *simWorld) leave(r *simRequest) {
	if r.ended {
		return
	}
	r.ended = true
	w.held = slices.DeleteFunc(w.held, func(x *simRequest) bool { return x == r })
	w.left++
	w.release()
}

func (w *simWorld) releaseHeld() {
	held := w.held
	w.held = nil
	for _, r := range held {
		r.ended = true
		w.serve()
	}
}

// serve sends one request on. If the application is gone meanwhile, nobody has noticed
// yet: the refused connection sends the request back to the gate.
func (w *simWorld) serve() {
	if !w.up || !w.knowsApp() {
		w.admittedDead()
		return
	}
	w.serving++
	this := w.incarnation
	w.after(w.upTo(3*time.Second), func() {
		if w.incarnation != this {
			w.broken++
		} else {
			w.serving--
			w.served++
		}
		w.release()
	})
}

func (w *simWorld) admittedDead() {
	if w.admitted {
		w.lose()
	}
	r := &simRequest{id: w.arrived}
	w.held = append(w.held, r)
	w.ask()
	w.after(patience, func() { w.leave(r) })
}

func (w *simWorld) release() {
	w.last = w.now
	w.inFlight--
}
