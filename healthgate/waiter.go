package healthgate

import "context"

// room is where waiters wait for the next outcome. An outcome is written once, before ended
// is closed, so it travels with the wake-up; whoever it does not concern goes on to next.
type room struct {
	ended chan struct{}
	gen   Generation // that opened; 0: none did
	err   error      // of Fail or Close
	next  *room
}

func newRoom() *room { return &room{ended: make(chan struct{})} }

// waiting returns the current room. The caller holds g.mu.
func (g *Gate) waiting() *room {
	if g.room == nil {
		g.room = newRoom()
	}
	return g.room
}

// turn ends the current room with an outcome: opened by gen, failed with err, or neither,
// when all that has happened is a new generation. The caller holds g.mu.
func (g *Gate) turn(gen Generation, err error) {
	r := g.room
	if r == nil {
		return
	}
	g.room = newRoom()
	r.gen, r.err, r.next = gen, err, g.room
	close(r.ended)
}

// Waiter is a place in a gate's waiting room, taken before the wake is asked for so that
// no outcome can be missed. The zero value is not usable; see Gate.Waiter.
type Waiter struct {
	gate *Gate
	room *room
}

// Waiter takes a place. It costs nothing to drop one.
func (g *Gate) Waiter() Waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Waiter{g, g.waiting()}
}

// Wait returns nil as soon as a target of the current generation is admitted, whichever
// generation was current when the place was taken. Otherwise: the error given to Fail
// after the place was taken; a *WaitError with the last verdict when ctx ended (it unwraps
// to context.Cause(ctx)); ErrClosed.
func (w Waiter) Wait(ctx context.Context) error {
	for r := w.room; ; r = r.next {
		if w.gate.open.Load() != nil {
			return nil
		}
		if !r.wait(ctx) {
			return w.gate.waitError(ctx)
		}
		if r.err != nil {
			return r.err
		}
		if w.gate.isCurrent(r.gen) {
			return nil
		}
	}
}

// WaitGeneration is Wait bound to one generation: it returns ErrSuperseded once gen is no
// longer the current one, or has been shut.
func (g *Gate) WaitGeneration(ctx context.Context, gen Generation) error {
	for r := g.Waiter().room; ; r = r.next {
		if open := g.open.Load(); open != nil && open.gen == gen {
			return nil
		}
		if g.isOver(gen) {
			return ErrSuperseded
		}
		if !r.wait(ctx) {
			return g.waitError(ctx)
		}
		if r.err != nil {
			return r.err
		}
		if r.gen == gen && g.isCurrent(gen) {
			return nil
		}
	}
}

// wait reports whether r has ended; otherwise ctx has.
func (r *room) wait(ctx context.Context) bool {
	select {
	case <-r.ended:
		return true
	default:
	}
	select {
	case <-r.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// isCurrent reports whether gen is the generation under way.
func (g *Gate) isCurrent(gen Generation) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.round != nil && g.gen == gen
}

// isOver reports whether gen can open no more.
func (g *Gate) isOver(gen Generation) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.closed && (gen < g.gen || gen == g.gen && g.round == nil)
}

func (g *Gate) waitError(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := &WaitError{Generation: g.gen, Verdict: Unknown, Cause: context.Cause(ctx)}
	if g.round == nil {
		return e
	}
	if s := g.round.hopeful(); s != nil {
		e.Verdict, e.Last = s.verdict, s.err
	}
	return e
}
