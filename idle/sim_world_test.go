package idle_test

import (
	"container/heap"
	"errors"
	"fmt"
	"strings"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// simWorld is everything around one Machine, in virtual time and without goroutines: the
// loop with its inbox, the activity word, the health gate, the workload, the application
// and the clients. What happens, and when, is chosen by choose.
type simWorld struct {
	choose func(n int) int // 0 ≤ result < n
	faults bool            // things go wrong, and others interfere
	calm   bool            // they never did

	verbose bool // write the log

	m        idle.Machine
	policies []*idle.Policy
	start    time.Time
	now      time.Time
	agenda   agenda
	made     int       // appointments
	inboxAt  time.Time // messages arrive in order
	inbox    int       // messages on their way
	posted   bool

	shut     bool // the activity word
	inFlight int64
	last     time.Time
	held     []*simRequest // wait at the gate
	serving  int

	armed    bool // the health gate
	armedGen healthgate.Generation
	targets  []healthgate.Target
	admitted bool

	call        idle.EffectKind // under way: CallWake or CallSleep; Report: none
	callGen     healthgate.Generation
	callEnd     func(error)
	queued      bool // the call that ends now had not begun
	incarnation int  // of the application; its target's ID
	up          bool
	wakesAsked  int

	leases   map[string]time.Time
	forced   bool
	failedAt time.Time
	failures int

	arrived, served, refused, left, broken int
	log                                    strings.Builder
	problems                               []string
}

// simRequest is one client.
type simRequest struct {
	id    int
	ended bool
}

var errSim = errors.New("simulated failure")

func newSimWorld(choose func(n int) int, faults bool) *simWorld {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &simWorld{
		choose: choose, faults: faults, calm: !faults, start: start, now: start, inboxAt: start, shut: true,
		call: idle.Report, leases: make(map[string]time.Time),
		policies: []*idle.Policy{
			{Rungs: []idle.Rung{{Depth: idle.Zero, After: 10 * time.Second}},
				WakeTimeout: 5 * time.Second},
			{Rungs: []idle.Rung{{Depth: idle.Zero, After: 3 * time.Second}},
				WakeTimeout: 5 * time.Second, DrainDelay: time.Second, MinAwake: 5 * time.Second},
			{Rungs: []idle.Rung{{Depth: idle.Freeze, After: 2 * time.Second},
				{Depth: idle.Park, After: 20 * time.Second}},
				WakeTimeout: 4 * time.Second, DrainDelay: 50 * time.Millisecond, FailOpen: true},
		},
	}
	w.m = idle.NewMachine(start, w.policies[choose(len(w.policies))], idle.Zero)
	return w
}

// after does something later.
func (w *simWorld) after(d time.Duration, do func()) {
	w.made++
	heap.Push(&w.agenda, appointment{w.now.Add(d), w.made, do})
}

// next does the next thing on the agenda.
func (w *simWorld) next() {
	a := heap.Pop(&w.agenda).(appointment)
	w.now = a.at
	a.do()
}

// run lives until the given time has passed and everything is at rest.
func (w *simWorld) run(until time.Duration) {
	end := w.now.Add(until)
	for len(w.agenda) > 0 && w.agenda[0].at.Before(end) && len(w.problems) == 0 {
		w.next()
	}
	w.now = end
}

// upTo is a random duration below d.
func (w *simWorld) upTo(d time.Duration) time.Duration {
	return d * time.Duration(w.choose(64)) / 64
}

// chance is true once in n.
func (w *simWorld) chance(n int) bool { return w.choose(n) == n-1 }

// logf writes the transcript, of schedules that are played to be read.
func (w *simWorld) logf(format string, args ...any) {
	if !w.verbose {
		return
	}
	fmt.Fprintf(&w.log, "%12s  %s\n", w.now.Sub(w.start), fmt.Sprintf(format, args...))
}

func (w *simWorld) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.logf("PROBLEM %s", text)
	w.problems = append(w.problems, text)
}

// post sends an event to the machine; it arrives a little later, in order.
func (w *simWorld) post(ev idle.Event) {
	at := w.now.Add(w.upTo(2 * time.Millisecond))
	if at.Before(w.inboxAt) {
		at = w.inboxAt
	}
	w.inboxAt = at
	w.inbox++
	w.after(at.Sub(w.now), func() {
		w.inbox--
		w.deliver(ev)
	})
}

func (w *simWorld) deliver(ev idle.Event) {
	switch ev.Kind {
	case idle.RequestHeld:
		w.posted = false
	case idle.SleepReturned, idle.WakeReturned:
		if ev.Generation == w.callGen {
			w.call = idle.Report
		}
	case idle.LeaseTaken:
		if ev.Until.After(w.leases[ev.Lease]) {
			w.leases[ev.Lease] = ev.Until
		}
	case idle.LeaseDropped:
		delete(w.leases, ev.Lease)
	}
	w.step(ev)
}

// step is what the loop does with one event.
func (w *simWorld) step(ev idle.Event) {
	w.logf("%s gen %d err %v [in flight %d, held %d, admitted %t]", ev.Kind, ev.Generation,
		ev.Err, w.inFlight, len(w.held), w.admitted)
	if ev.Kind == idle.SleepAsked && ev.Force {
		w.forced = true
		clear(w.leases)
	}
	for more := true; more; {
		ev.Activity = w.activity()
		before := w.m
		effects := w.m.Step(w.now, ev)
		w.checkStale(ev, &before)
		more = false
		for _, e := range effects {
			if answer, awaited := w.carryOut(e); awaited {
				ev, more = answer, true
			}
		}
	}
	w.checkRest()
	w.watchDeadline()
}

func (w *simWorld) activity() idle.Activity {
	return idle.Activity{
		InFlight: w.inFlight, Waiting: int64(len(w.held)), Last: w.last, Known: true,
		Admitted: w.admitted,
	}
}

// watchDeadline arranges for the machine's deadline to be met.
func (w *simWorld) watchDeadline() {
	due := w.m.Due()
	if due.IsZero() {
		return
	}
	w.after(max(due.Sub(w.now), 0), func() {
		if w.m.Due().Equal(due) {
			w.step(idle.Event{Kind: idle.DeadlinePassed})
			if next := w.m.Due(); !next.IsZero() && !next.After(w.now) && w.m.State() != idle.Draining {
				w.problem("busy loop: %s is due at once again", w.m.State())
			}
		}
	})
}

// appointment is something on the agenda; ties are met in the order they were made.
type appointment struct {
	at time.Time
	n  int
	do func()
}

type agenda []appointment

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if a[i].at.Equal(a[j].at) {
		return a[i].n < a[j].n
	}
	return a[i].at.Before(a[j].at)
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(appointment)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}
