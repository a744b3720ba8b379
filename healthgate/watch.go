package healthgate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// watch probes one target. The goroutine in run owns all of it but epoch and kick.
type watch struct {
	*Prober
	addr   string
	report func(Result)

	// epoch numbers the times that the target was taken out from outside; kick tells.
	epoch atomic.Uint64
	kick  chan struct{}

	pace     pace
	standing standing
	patient  *attempt // the probe that counts, nil: none is out
	scout    *attempt // see Prober
	patience time.Duration
	timer    *time.Timer // of the next probe, or scout while a patient is out
	results  chan *attempt
	out      sync.WaitGroup // attempts
}

// attempt is one probe under way.
type attempt struct {
	cancel context.CancelFunc
	epoch  uint64
	err    error
	took   time.Duration
}

func newWatch(p *Prober, addr string, report func(Result)) *watch {
	return &watch{
		Prober: p, addr: addr, report: report,
		kick: make(chan struct{}, 1), results: make(chan *attempt),
		pace:     newPace(p.cfg),
		standing: standing{rise: p.cfg.Rise, fall: p.cfg.Fall},
	}
}

// takeOut makes the target unready from outside: results of probes already under way will
// be out of date, and the pace is that of a wake again.
func (w *watch) takeOut() {
	w.epoch.Add(1)
	select {
	case w.kick <- struct{}{}:
	default: // told already
	}
}

func (w *watch) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer w.out.Wait()
	defer cancel()
	w.timer = time.NewTimer(w.cfg.InitialDelay)
	defer w.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.kick:
			w.restart(ctx)
		case <-w.timer.C:
			w.send(ctx)
		case a := <-w.results:
			w.take(a)
		}
	}
}

func (w *watch) restart(ctx context.Context) {
	w.callOff()
	w.standing.reset()
	w.pace.begin(time.Now())
	w.send(ctx)
}

// send sends the probe that is due: the patient one, or a scout beside it.
func (w *watch) send(ctx context.Context) {
	if w.patient != nil {
		w.scout = w.start(ctx, w.patience)
		w.patience = min(2*w.patience, w.pace.least)
		return
	}
	if w.pace.since.IsZero() {
		w.pace.begin(time.Now())
	}
	w.patient = w.start(ctx, w.pace.timeout)
	w.patience = min(fastPause, w.pace.least)
	w.timer.Stop()
	if !w.standing.ready && w.cfg.Kind != "exec" {
		w.timer.Reset(fastPause)
	}
}

func (w *watch) start(ctx context.Context, timeout time.Duration) *attempt {
	probing, cancel := context.WithCancel(ctx)
	a := &attempt{cancel: cancel, epoch: w.epoch.Load(), err: errDied}
	w.out.Go(func() {
		defer w.deliver(ctx, a) // also where a dialler ends the goroutine
		a.took, a.err = w.once(probing, w.addr, timeout)
	})
	return a
}

func (w *watch) deliver(ctx context.Context, a *attempt) {
	a.cancel()
	select {
	case w.results <- a:
	case <-ctx.Done():
	}
}

// take learns from an attempt that has ended. One that was called off says nothing. A scout
// that failed is told, but does not count.
func (w *watch) take(a *attempt) {
	switch {
	case a == w.scout && a.err != nil:
		w.scout = nil
		w.timer.Reset(fastPause)
		w.tell(a)
	case a == w.scout || a == w.patient:
		w.callOff()
		w.count(a)
		w.tell(a)
		w.timer.Reset(w.pace.next(time.Now()))
	}
}

func (w *watch) count(a *attempt) {
	fell := w.standing.count(a.err == nil)
	switch {
	case a.err == nil:
		w.pace.passed(a.took)
	case isLate(a.err):
		w.pace.late()
	}
	if fell {
		w.pace.begin(time.Now())
	}
}

func (w *watch) tell(a *attempt) {
	verdict := VerdictOf(a.err)
	if verdict == Busy && w.standing.fallen {
		verdict = Hung
	}
	w.report(Result{
		Verdict: verdict, Err: a.err, Took: a.took, Ready: w.standing.ready, epoch: a.epoch,
	})
}

func (w *watch) callOff() {
	for _, a := range []*attempt{w.patient, w.scout} {
		if a != nil {
			a.cancel()
		}
	}
	w.patient, w.scout = nil, nil
}

// standing turns results into readiness: rise passes in a row make ready, fall failures in
// a row unready.
type standing struct {
	rise, fall int
	ready      bool
	fallen     bool // was ready, and has not passed since
	run        int  // results in a row that speak against ready
}

// count adds a result and reports whether the target fell.
func (s *standing) count(passed bool) (fell bool) {
	if passed {
		s.fallen = false
	}
	if passed == s.ready {
		s.run = 0
		return false
	}
	s.run++
	if passed && s.run >= s.rise {
		s.ready, s.run = true, 0
	} else if !passed && s.run >= s.fall {
		s.ready, s.fallen, s.run = false, true, 0
		return true
	}
	return false
}

func (s *standing) reset() { s.ready, s.fallen, s.run = false, false, 0 }
