package idle_test

import (
	"errors"
	"fmt"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// carryOut is the loop's part in the simulation; it checks what may be checked on the way.
func (w *simWorld) carryOut(e idle.Effect) (answer idle.Event, awaited bool) {
	switch e.Kind {
	case idle.HoldRequests:
		w.shut = true
	case idle.AdmitRequests:
		w.shut = false
	case idle.TryShut:
		w.slipIn()
		if w.inFlight > 0 {
			return idle.Event{Kind: idle.GateBusy}, true
		}
		w.shut = true
		return idle.Event{Kind: idle.GateShut}, true
	case idle.ArmGate:
		w.arm(e)
	case idle.UpdateGate:
		w.update(e)
	case idle.ShutGate:
		w.shutGate()
	case idle.CloseGate:
		w.slipIn()
		w.shutGate()
		w.slipIn()
		return idle.Event{Kind: idle.GateClosed}, true
	case idle.OpenAnyway:
		if len(w.targets) == 0 {
			return idle.Event{Kind: idle.NothingToOpen}, true
		}
		w.admitted = true
		w.releaseHeld()
		return idle.Event{Kind: idle.GateOpened}, true
	case idle.FailWaiters:
		w.failHeld(e.Err)
	case idle.CallWake, idle.CallSleep, idle.CallExplain:
		w.begin(e)
	case idle.CancelCall:
		w.cancel(e.Err)
	case idle.WithdrawCall:
		if w.call == idle.CallSleep && w.chance(4) { // it was still queued
			w.queued = true
			w.callEnd(idle.ErrSuperseded)
			w.queued = false
		}
	case idle.Report:
		w.report(e.Transition)
	}
	return idle.Event{}, false
}

// slipIn lets a request in between two instructions of the loop.
func (w *simWorld) slipIn() {
	if w.chance(4) {
		w.arrive()
	}
}

func (w *simWorld) arm(e idle.Effect) {
	if e.Generation <= w.armedGen {
		w.problem("gate armed for generation %d after %d", e.Generation, w.armedGen)
	}
	w.shutGate()
	w.armed, w.armedGen, w.targets = true, e.Generation, e.Targets
	w.probe()
}

func (w *simWorld) update(e idle.Effect) {
	if !w.armed || e.Generation != w.armedGen {
		w.problem("targets for generation %d, armed is %d", e.Generation, w.armedGen)
	}
	w.targets = e.Targets
	if w.admitted && !w.knowsApp() {
		w.lose()
	}
	w.probe()
}

func (w *simWorld) shutGate() { w.armed, w.admitted, w.targets = false, false, nil }

// knowsApp reports whether the running application is among the targets.
func (w *simWorld) knowsApp() bool {
	for _, t := range w.targets {
		if t.ID == fmt.Sprint(w.incarnation) {
			return true
		}
	}
	return false
}

// probe looks at the application a little later, if that is still of interest then.
func (w *simWorld) probe() {
	gen := w.armedGen
	w.after(w.upTo(10*time.Millisecond), func() {
		if !w.armed || gen != w.armedGen || w.admitted || !w.up || !w.knowsApp() {
			return
		}
		w.admitted = true
		w.post(idle.Event{Kind: idle.TargetReady, Generation: gen})
		w.releaseHeld()
	})
}

// lose takes the last target out.
func (w *simWorld) lose() {
	w.admitted = false
	w.post(idle.Event{Kind: idle.TargetsLost, Generation: w.armedGen})
}

// begin starts a call of the workload.
func (w *simWorld) begin(e idle.Effect) {
	if w.call != idle.Report {
		w.problem("%s while %s is under way", e.Kind, w.call)
	}
	switch e.Kind {
	case idle.CallSleep:
		w.checkSleep()
	case idle.CallWake:
		w.wakesAsked++
	}
	w.call, w.callGen = e.Kind, e.Generation
	ended := false
	w.callEnd = func(err error) {
		if ended {
			return
		}
		ended = true
		w.finish(e, err)
	}
	if w.faults && w.chance(12) {
		return // hangs until it is cancelled
	}
	var err error
	if w.faults && w.chance(4) {
		err = errSim
	}
	end := w.callEnd
	w.after(w.upTo(300*time.Millisecond), func() { end(err) })
}

func (w *simWorld) cancel(why error) {
	if w.call == idle.Report {
		w.problem("cancel without a call")
		return
	}
	end := w.callEnd
	w.after(w.upTo(50*time.Millisecond), func() { end(why) })
}

// finish ends a call; a failure may have had its effect all the same.
func (w *simWorld) finish(e idle.Effect, err error) {
	done := err == nil || (!w.queued && w.chance(3))
	ev := idle.Event{Kind: idle.WakeReturned, Generation: e.Generation, Err: err}
	if e.Kind == idle.CallSleep {
		ev.Kind = idle.SleepReturned
		if err != nil && !w.queued && w.chance(2) {
			ev.Err = &idle.NotNowError{Reason: "deployment", After: time.Second}
			done = false
		}
		if done {
			w.kill()
		}
	} else if done && e.Kind == idle.CallWake {
		w.boot()
		w.declare()
	}
	w.post(ev)
}

// boot starts the application, unless it runs.
func (w *simWorld) boot() {
	if w.up {
		return
	}
	w.incarnation++
	this := w.incarnation
	w.after(w.upTo(400*time.Millisecond), func() {
		if w.incarnation == this {
			w.up = true
			w.probe()
		}
	})
}

func (w *simWorld) declare() {
	targets := []healthgate.Target{{ID: fmt.Sprint(w.incarnation), Addr: "app:80"}}
	w.post(idle.Event{Kind: idle.TargetsDeclared, Targets: targets})
}

// kill ends the application; the next one is another incarnation.
func (w *simWorld) kill() {
	w.up, w.serving = false, 0
	w.incarnation++
	if w.admitted {
		w.lose()
	}
}

func (w *simWorld) report(t *idle.Transition) {
	w.logf("    %s → %s %d, %q err %q", t.From, t.To, t.Generation, t.Cause, t.Err)
	if t.To == idle.Failed && t.From == idle.Waking {
		w.failedAt, w.failures = w.now, w.failures+1
	}
	if t.To == idle.Ready && t.From != idle.Draining && t.From != idle.Sleeping {
		w.failures = 0
	}
	if t.From == idle.Sleeping {
		w.forced = false
	}
	if t.To == idle.Asleep {
		w.failures = 0
	}
}

// failHeld refuses everybody who waits.
func (w *simWorld) failHeld(err error) {
	if _, ok := errors.AsType[*idle.FailedError](err); !ok {
		w.problem("waiters get %v", err)
	}
	for _, r := range w.held {
		r.ended = true
		w.refused++
		w.release()
	}
	w.held = nil
}
