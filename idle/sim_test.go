package idle_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"doze/healthgate"
	"doze/idle"
)

var (
	simRuns = flag.Int("sim.runs", 1000, "how many random schedules the simulation plays")
	simSeed = flag.Uint64("sim.seed", 0, "play the schedule of this seed only, and print it")
)

// TestSim_randomSchedules_keepTheInvariants plays random schedules of clients, failures,
// commands and interference around one machine. Mutations that it was seen to notice within
// a second: no look at the activity after CloseGate, a lease that is not looked at, a request
// that is forgotten while sleeping, a call begun while another is under way, a stale target
// that is taken, a ready group without targets that nobody wakes.
func TestSim_randomSchedules_keepTheInvariants(t *testing.T) { simulate(t, true) }

// TestSim_nothingGoesWrong_everyRequestIsAnswered plays schedules without faults: every
// request is answered, whatever instant of falling asleep it falls on.
// field case 17, field case 23
func TestSim_nothingGoesWrong_everyRequestIsAnswered(t *testing.T) { simulate(t, false) }

func simulate(t *testing.T, faults bool) {
	if *simSeed != 0 {
		w := play(*simSeed, faults, true)
		t.Log("\n" + w.log.String())
		w.fail(t, *simSeed)
		return
	}
	for seed := uint64(1); seed <= uint64(*simRuns) && !t.Failed(); seed++ {
		if w := play(seed, faults, false); len(w.problems) > 0 {
			play(seed, faults, true).fail(t, seed) // once more, written down
		}
	}
}

// fail reports what a schedule broke, with all that is needed to play it again.
func (w *simWorld) fail(t *testing.T, seed uint64) {
	t.Helper()
	if len(w.problems) > 0 {
		t.Errorf("seed %d: %q\nplay it again with -run %s -sim.seed=%d\n%s",
			seed, w.problems, t.Name(), seed, w.log.String())
	}
}

func play(seed uint64, faults, verbose bool) *simWorld {
	r := rand.New(rand.NewPCG(seed, seed))
	w := newSimWorld(r.IntN, faults)
	w.verbose = verbose
	w.live(30 + r.IntN(60))
	return w
}

// live lets n things happen at random times, then nothing, and looks at what is left.
func (w *simWorld) live(n int) {
	for range n {
		w.after(w.upTo(30*time.Second), w.happen)
	}
	w.run(30 * time.Second)
	w.faults = false
	w.run(5 * time.Minute)
	w.checkEnd()
}

// happen lets one thing happen.
func (w *simWorld) happen() {
	kind := w.choose(20)
	if kind < 9 || !w.faults {
		for range 1 + w.choose(4) {
			w.arrive()
		}
		return
	}
	switch kind {
	case 9:
		w.post(idle.Event{Kind: idle.WakeAsked, Cause: "command"})
	case 10, 11:
		w.post(idle.Event{Kind: idle.SleepAsked, Cause: "command", Force: w.chance(4)})
	case 12:
		w.post(idle.Event{Kind: idle.LeaseTaken, Lease: "a", Until: w.now.Add(w.upTo(20 * time.Second))})
	case 13:
		w.post(idle.Event{Kind: idle.LeaseDropped, Lease: "a"})
	case 14:
		w.post(idle.Event{Kind: idle.PolicyChanged, Policy: w.policies[w.choose(len(w.policies))]})
	case 15:
		w.post(idle.Event{Kind: idle.DeepenAsked, Depth: idle.Park, Cause: "memory"})
	case 16:
		w.kill() // a crash, restarted by itself
		w.boot()
		w.declare()
	case 17:
		w.scaleByHand()
	default:
		w.stale()
	}
}

// scaleByHand is interference from outside. What is older than a call under way is not
// reported, as the jobs watcher does it.
func (w *simWorld) scaleByHand() {
	if w.call != idle.Report {
		return
	}
	o := idle.Observation{Count: w.choose(2), Cause: "by hand"}
	if o.Count == 0 {
		w.kill()
	} else {
		w.boot()
	}
	w.post(idle.Event{Kind: idle.Observed, Observation: o})
	if o.Count > 0 {
		w.declare()
	}
}

// stale delivers a result of an older generation.
func (w *simWorld) stale() {
	kinds := []idle.EventKind{
		idle.TargetReady, idle.TargetBooted, idle.TargetsLost, idle.WakeReturned, idle.SleepReturned,
	}
	gen := w.m.Generation() - healthgate.Generation(1+w.choose(3))
	w.step(idle.Event{Kind: kinds[w.choose(len(kinds))], Generation: gen, Err: errSim})
}

// checkStale: a stale generation changes nothing, unless somebody waits at a ready group
// without targets, which is looked at in every step.
func (w *simWorld) checkStale(ev idle.Event, before *idle.Machine) {
	switch ev.Kind {
	case idle.TargetReady, idle.TargetBooted, idle.TargetsLost, idle.WakeReturned, idle.SleepReturned:
	default:
		return
	}
	if ev.Generation != before.Generation() && w.m.State() != before.State() && len(w.held) == 0 {
		w.problem("stale %s of %d changed %s to %s", ev.Kind, ev.Generation,
			before.State(), w.m.State())
	}
}

// checkSleep: nothing in use is put to sleep, unless by force.
func (w *simWorld) checkSleep() {
	if w.forced {
		return
	}
	if w.serving > 0 {
		w.problem("put to sleep while %d requests are being served", w.serving)
	}
	for name, until := range w.leases {
		if until.After(w.now) {
			w.problem("put to sleep with lease %s out", name)
		}
	}
}

// checkRest looks at what must hold after every step.
func (w *simWorld) checkRest() {
	state := w.m.State()
	if w.shut != (state != idle.Ready) {
		w.problem("%s with the gate shut=%t", state, w.shut)
	}
	armed := state != idle.Asleep && state != idle.Sleeping
	if w.armed != armed {
		w.problem("%s with the health gate armed=%t", state, w.armed)
	}
	if w.inbox == 0 && len(w.held) > 0 {
		w.checkHeld(state)
	}
}

// checkHeld: whoever waits is on the way to an answer.
func (w *simWorld) checkHeld(state idle.State) {
	switch {
	case state == idle.Asleep, state == idle.Failed:
		w.problem("%d requests held, nobody wakes the group: %s", len(w.held), state)
	case state == idle.Ready && !w.admitted:
		w.problem("%d requests held, ready without targets", len(w.held))
	}
}

// checkEnd: when nothing happens any more the group is asleep and nobody waits.
func (w *simWorld) checkEnd() {
	if len(w.problems) > 0 {
		return
	}
	if len(w.held) > 0 || w.inFlight != 0 {
		w.problem("%d held, %d in flight at the end", len(w.held), w.inFlight)
	}
	if w.m.State() != idle.Asleep {
		w.problem("%s at the end", w.m.State())
	}
	if w.arrived > 0 && w.served+w.refused+w.left+w.broken < w.arrived {
		w.problem("%d requests: %d served, %d refused, %d left, %d broken", w.arrived, w.served,
			w.refused, w.left, w.broken)
	}
	if w.calm && w.served < w.arrived {
		w.problem("nothing went wrong, but %d refused, %d left, %d broken", w.refused, w.left, w.broken)
	}
}
