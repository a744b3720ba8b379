package idle_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// TestSimLoop_randomClients_keepTheInvariants plays random clients, calls and failures
// around the real loop and the real gate, every schedule in a bubble of its own: no
// request is cut by Doze's own sleep, every patient client is answered unless the workload
// failed, and in the end the group sleeps with nobody waiting.
func TestSimLoop_randomClients_keepTheInvariants(t *testing.T) {
	runs := max(*simRuns/20, 1)
	for seed := uint64(1); seed <= uint64(runs) && !t.Failed(); seed++ {
		if *simSeed != 0 {
			seed = *simSeed
		}
		synctest.Test(t, func(t *testing.T) { simulateLoop(t, seed) })
		if t.Failed() {
			t.Logf("play it again with -run %s -sim.seed=%d", t.Name(), seed)
		}
		if *simSeed != 0 {
			return
		}
	}
}

func simulateLoop(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	p := policy()
	p.Rungs = []idle.Rung{{Depth: idle.Zero, After: 2 * time.Second}}
	p.DrainDelay = time.Duration(r.IntN(2)) * 20 * time.Millisecond
	w := newWorld(t, p, r.IntN(2))
	w.slow(upTo(r, 30*time.Millisecond), upTo(r, 200*time.Millisecond))
	faults := r.IntN(2) == 0
	var clients sync.WaitGroup
	for range 40 {
		c := client{arrives: upTo(r, 20*time.Second), served: upTo(r, 3*time.Second), wait: time.Minute}
		if r.IntN(5) == 0 {
			c.wait = upTo(r, 300*time.Millisecond) // leaves early
		}
		clients.Go(func() { c.run(w, faults) })
	}
	if faults {
		go w.failNowAndThen(r.Uint64())
	}
	clients.Wait()
	w.fail(nil, nil)
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	if s := w.group.Status(); s.State != idle.Asleep || s.InFlight != 0 {
		t.Errorf("in the end: %s with %d in flight", s.State, s.InFlight)
	}
	if n := w.killed.Load(); n > 0 {
		t.Errorf("%d requests were cut", n)
	}
	w.stop()
}

func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d)) + 1) }

// failNowAndThen lets calls fail for some of the time, for as long as clients arrive.
func (w *world) failNowAndThen(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	for range 20 {
		var wake, sleep error
		if r.IntN(3) == 0 {
			wake = errRefused
		}
		if r.IntN(3) == 0 {
			sleep = errRefused
		}
		w.fail(wake, sleep)
		time.Sleep(time.Second)
	}
	w.fail(nil, nil)
}

// client is one request of the simulation.
type client struct {
	arrives, served, wait time.Duration
}

func (c client) run(w *world, faults bool) {
	time.Sleep(c.arrives)
	ctx, cancel := context.WithTimeout(w.t.Context(), c.wait)
	defer cancel()
	err := w.request(ctx, c.served)
	_, left := errors.AsType[*healthgate.WaitError](err)
	_, refused := errors.AsType[*idle.FailedError](err)
	switch {
	case err == nil, left && c.wait < time.Second, refused && faults:
	default:
		w.t.Errorf("a client that came at %s and would wait %s got %v", c.arrives, c.wait, err)
	}
}
