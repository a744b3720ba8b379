package idle

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"doze/healthgate"
)

// Config is the Loop's. The zero value is usable.
type Config struct {
	// MaxWakes is how many Workload.Wake calls may be under way at once; further wakes
	// queue; default 32. As many Sleep calls may be under way beside them.
	MaxWakes int
	// OnTransition is called from the loop for every change of state, in order; it must
	// not block. nil: nobody is told.
	OnTransition func(Transition)
	Log          *slog.Logger // nil discards
}

// defaultMaxWakes is MaxWakes where it is not set.
const defaultMaxWakes = 32

// Loop drives any number of groups. One goroutine (Run) owns all their states.
type Loop struct {
	cfg   Config
	epoch time.Time // activity is stamped relative to it, immune to steps of the clock
	inbox inbox
	ended chan struct{} // closed when Run has returned

	mu      sync.RWMutex
	groups  map[GroupID]*Group
	policy  *Policy          // the one given last; equal ones share it
	gate    *healthgate.Gate // the last one; probes that are equal share their settings
	started bool
	closed  bool

	// What follows belongs to Run's goroutine.
	ctx           context.Context
	due           deadlines
	wakes, sleeps lane
	calls         sync.WaitGroup
}

// NewLoop returns a Loop; it does nothing before Run.
func NewLoop(cfg Config) *Loop {
	if cfg.MaxWakes <= 0 {
		cfg.MaxWakes = defaultMaxWakes
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Loop{
		cfg:    cfg,
		epoch:  time.Now(),
		inbox:  inbox{arrived: make(chan struct{}, 1)},
		ended:  make(chan struct{}),
		groups: make(map[GroupID]*Group),
		wakes:  lane{limit: cfg.MaxWakes},
		sleeps: lane{limit: cfg.MaxWakes},
	}
}

// Run drives the groups until ctx ends, then waits for the calls under way to return
// (their contexts end too) and closes every gate. It changes no workload on the way out.
// A second Run is an error.
func (l *Loop) Run(ctx context.Context) error {
	if err := l.start(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer l.end(cancel)
	l.ctx = ctx
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.setTimer(timer)
		select {
		case <-ctx.Done():
			return nil
		case <-l.inbox.arrived:
			for _, m := range l.inbox.take() {
				l.handle(&m)
			}
		case <-timer.C:
		}
		l.passDeadlines(time.Now())
	}
}

func (l *Loop) start() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started {
		return errors.New("cannot run loop: it has been run before")
	}
	l.started = true
	return nil
}

// end waits for the calls under way, closes the gates and lets every command go.
func (l *Loop) end(cancel context.CancelCauseFunc) {
	cancel(ErrGone)
	l.calls.Wait()
	l.mu.Lock()
	l.closed = true
	groups := slices.Collect(maps.Values(l.groups))
	l.mu.Unlock()
	for _, g := range groups {
		g.gate.Close()
	}
	close(l.ended)
}

// setTimer sets the one timer to the earliest deadline.
func (l *Loop) setTimer(timer *time.Timer) {
	at := l.due.next()
	if at.IsZero() {
		timer.Stop()
		return
	}
	timer.Reset(time.Until(at))
}

// passDeadlines steps every group whose deadline has come.
func (l *Loop) passDeadlines(now time.Time) {
	for {
		at := l.due.next()
		if at.IsZero() || at.After(now) {
			return
		}
		g := l.due[0]
		l.step(g, Event{Kind: DeadlinePassed, Cause: g.lastVerdict()})
	}
}

// handle takes one message.
func (l *Loop) handle(m *message) {
	g := m.group
	switch m.event.Kind {
	case RequestHeld:
		g.posted.Store(false) // before the state is looked at: a later waiter posts again
	case WakeReturned:
		g.call = nil
		l.leave(&l.wakes)
	case SleepReturned:
		g.call = nil
		l.leave(&l.sleeps)
	}
	if g.gone {
		m.answer(answer{err: ErrGone})
		return
	}
	_, had := g.machine.leases[m.event.Lease]
	l.step(g, m.event)
	m.answer(g.answerTo(&m.event, had))
}

func (m *message) answer(a answer) {
	if m.reply != nil {
		m.reply <- a
	}
}

// step takes the machine through an event and the answers that follow from it.
func (l *Loop) step(g *Group, ev Event) {
	g.gone = g.gone || ev.Kind == Removed
	for next := &ev; next != nil; {
		next.Activity = g.activity(next.Kind)
		g.mu.Lock()
		effects := g.machine.Step(time.Now(), *next)
		g.mu.Unlock()
		next = nil
		for _, e := range effects {
			if answer := l.carryOut(g, e); answer != nil {
				next = answer
			}
		}
	}
	l.due.put(g)
}

// lastVerdict says what the probes of a waking group found last.
func (g *Group) lastVerdict() string {
	if g.machine.state != Waking {
		return ""
	}
	for _, m := range g.gate.Members() {
		if m.Err != "" {
			return m.Err
		}
	}
	return ""
}

// share returns p, or an equal policy that other groups have already.
func (l *Loop) share(p Policy) *Policy {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.policy == nil || !l.policy.equal(&p) {
		l.policy = &p
	}
	return l.policy
}
