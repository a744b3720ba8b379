package idle_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// world is one group with a workload whose application answers on pipes, inside a bubble.
type world struct {
	t     *testing.T
	loop  *idle.Loop
	group *idle.Group
	end   context.CancelFunc
	done  chan error

	wakes, sleeps atomic.Int32
	count         atomic.Int32
	calls         atomic.Int32 // under way now
	up            atomic.Bool  // the application listens
	killed        atomic.Int32 // requests that the application's end broke

	mu                sync.Mutex
	boot, call        time.Duration // from Wake to listening; how long Wake and Sleep take
	wakeErr, sleepErr error
	seen              []idle.Transition
}

var (
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset")
	// errForgotten ends a wait that nothing else ended.
	errForgotten = errors.New("held for two minutes")
)

func policy() idle.Policy {
	return idle.Policy{
		Rungs:       []idle.Rung{{Depth: idle.Zero, After: time.Minute}},
		WakeTimeout: 10 * time.Second,
	}
}

// newWorld runs a loop with one group; end it with stop.
func newWorld(t *testing.T, p idle.Policy, observed int) *world {
	t.Helper()
	w := &world{t: t, boot: 120 * time.Millisecond, call: 10 * time.Millisecond,
		done: make(chan error, 1)}
	w.loop = idle.NewLoop(idle.Config{OnTransition: w.record})
	w.count.Store(int32(observed))
	w.up.Store(observed > 0)
	w.group = w.add(idle.GroupID{Namespace: "default", Job: "shop", Group: "web"}, p, observed)
	w.run()
	if observed > 0 {
		w.group.SetTargets(target())
	}
	return w
}

func (w *world) run() {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.end = cancel
	go func() { w.done <- w.loop.Run(ctx) }()
}

func (w *world) add(id idle.GroupID, p idle.Policy, observed int) *idle.Group {
	w.t.Helper()
	g, err := w.loop.Add(idle.GroupConfig{
		ID: id, Policy: p, Workload: w,
		Gate:     healthgate.GateConfig{Probe: healthgate.ProbeConfig{Dial: w.dial}},
		Observed: idle.Observation{Count: observed, Cause: "found at start"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

func (w *world) stop() {
	w.end()
	if err := <-w.done; err != nil {
		w.t.Errorf("Run: %v", err)
	}
}

func target() []healthgate.Target { return []healthgate.Target{{ID: "a1", Addr: "192.0.2.1:80"}} }

// dial is the probe's way to the application.
func (w *world) dial(context.Context, string, string) (net.Conn, error) {
	if !w.up.Load() {
		return nil, errRefused
	}
	ours, theirs := net.Pipe()
	theirs.Close()
	return ours, nil
}

func (w *world) Wake(ctx context.Context, _ healthgate.Generation) error {
	w.enter()
	defer w.calls.Add(-1)
	w.wakes.Add(1)
	w.mu.Lock()
	call, boot, err := w.call, w.boot, w.wakeErr
	w.mu.Unlock()
	if err := sleepCtx(ctx, call); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	w.count.Store(1)
	time.AfterFunc(boot, func() { w.up.Store(w.count.Load() > 0) })
	w.group.SetTargets(target())
	return nil
}

func (w *world) Sleep(ctx context.Context, _ healthgate.Generation, _ idle.Depth, _ string) error {
	w.enter()
	defer w.calls.Add(-1)
	w.sleeps.Add(1)
	w.mu.Lock()
	call, err := w.call, w.sleepErr
	w.mu.Unlock()
	if err := sleepCtx(ctx, call/2); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	w.count.Store(0)
	w.up.Store(false)
	return sleepCtx(ctx, call/2)
}

// enter fails the test when two calls for one group overlap.
func (w *world) enter() {
	if w.calls.Add(1) > 1 {
		w.t.Error("two calls under way for one group")
	}
}

func (w *world) fail(wake, sleep error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wakeErr, w.sleepErr = wake, sleep
}

// slow sets how long a call and the application's start take.
func (w *world) slow(call, boot time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call, w.boot = call, boot
}

func sleepCtx(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *world) record(t idle.Transition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, t)
}

// request is one client: it is served for the given time by an application that must stay
// up until it is done.
func (w *world) request(ctx context.Context, served time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errForgotten)
	defer cancel()
	open := w.group.Acquire()
	defer w.group.Release()
	for {
		if m := w.group.Gate().Pick(); open && m != nil {
			break
		}
		if err := w.group.Await(ctx, "request"); err != nil {
			return err
		}
		open = true
	}
	if !w.up.Load() {
		return errRefused
	}
	time.Sleep(served)
	if !w.up.Load() {
		w.killed.Add(1)
		return errReset
	}
	return nil
}

// path returns the states passed through so far.
func (w *world) path() []idle.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	var states []idle.State
	for _, t := range w.seen {
		states = append(states, t.To)
	}
	return states
}

// state fails the test unless the group has come to rest in want.
func (w *world) state(want idle.State) {
	w.t.Helper()
	synctest.Wait()
	if got := w.group.Status().State; got != want {
		w.t.Errorf("state is %v, want %v", got, want)
	}
}

// listening is only good for dialling.
func listening() *world {
	w := new(world)
	w.up.Store(true)
	return w
}
