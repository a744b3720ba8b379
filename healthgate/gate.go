package healthgate

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// GateConfig describes the gate of one group. The zero value probes by tcp.
type GateConfig struct {
	Probe ProbeConfig
	// Off admits to any target that exists while probing goes on in the background: the
	// kill switch (-gate=off, DOZE_GATE=off).
	Off bool
	// Counters, if not nil, are added to; one set may serve many gates.
	Counters *Counters
	// OnBooted is called once per generation when a target first did anything but refuse
	// the connection; OnReady when the first target passed its probe (or was admitted by
	// Off or OpenAnyway); OnLost when the last admitted target of the generation was lost.
	// They are called from a goroutine of the gate with no lock held and must not block.
	OnBooted func(Generation)
	OnReady  func(Generation)
	OnLost   func(Generation)
	// OnGone is called when a member has left the gate, so that its connections can go.
	OnGone func(*Member)
	// Log receives changes of a target's state; nil discards.
	Log *slog.Logger
}

// Counters count gate outcomes over a process's life. The zero value is ready to use.
type Counters struct {
	Started    atomic.Uint64 // generations armed
	Healthy    atomic.Uint64 // generations in which a target passed its probe
	FailedOpen atomic.Uint64 // generations admitted without a passed probe
	Aborted    atomic.Uint64 // generations shut or replaced before any target passed
	Error      atomic.Uint64 // probes that died themselves (verdict Unknown)
}

// Gate is shut until a target of the current generation has passed its probe. It is
// replaced at every wake (Arm), never cancelled into success. All methods are safe for
// concurrent use. A shut gate has no goroutine and no timer.
type Gate struct{}

// NewGate returns a shut gate of generation 0. It returns Validate's error of the probe.
func NewGate(cfg GateConfig) (*Gate, error) { panic("skeleton") }

// Arm begins generation gen: every target is forgotten, the gate is shut, waiters stay and
// wait for the new generation. A gen not above the current one changes nothing.
func (g *Gate) Arm(gen Generation) { panic("skeleton") }

// Update declares the whole set of targets of generation gen. New ones enter unverified
// and are probed at once; one with the same ID and Addr keeps its state; missing ones
// leave. A stale gen, or a shut gate, changes nothing.
func (g *Gate) Update(gen Generation, targets []Target) { panic("skeleton") }

// Shut ends the generation: probing stops, targets are forgotten, waiters stay.
func (g *Gate) Shut() { panic("skeleton") }

// OpenAnyway admits to every target of generation gen that exists, verified or not
// (on_timeout = "open"), and reports whether there was one.
func (g *Gate) OpenAnyway(gen Generation) bool { panic("skeleton") }

// Fail releases everybody who waits now with err (see Waiter.Wait); the gate itself stays
// as it is, so a target that passes later still opens it. A stale gen changes nothing.
func (g *Gate) Fail(gen Generation, err error) { panic("skeleton") }

// Close shuts the gate for good; waiters, now and later, get ErrClosed.
func (g *Gate) Close() { panic("skeleton") }

// Pick returns the admitted member with the fewest requests in flight of two picked at
// random, or nil when there is none. It takes no lock and allocates nothing.
func (g *Gate) Pick() *Member { panic("skeleton") }

// Members returns a snapshot of all members and their state, in the order of Update.
func (g *Gate) Members() []MemberStatus { panic("skeleton") }

// Report is the passive signal from the request path: a failed dial (ErrDial in its
// chain) takes m out at once and has it probed at the wake pace; other errors do so after
// a run of three; nil ends a run.
func (g *Gate) Report(m *Member, err error) { panic("skeleton") }

// MemberStatus is a snapshot of one member.
type MemberStatus struct {
	Target
	Generation Generation
	Admitted   bool      // requests may go to it
	Verdict    Verdict   // of the last probe
	Err        string    // the last probe's error, "" when it passed
	Since      time.Time // of the current Admitted value
	InFlight   int64
}

// Waiter is a place in a gate's waiting room, taken before the wake is asked for so that
// no outcome can be missed. The zero value is not usable; see Gate.Waiter.
type Waiter struct{}

// Waiter takes a place. It costs nothing to drop one.
func (g *Gate) Waiter() Waiter { panic("skeleton") }

// Wait returns nil as soon as a target of the current generation is admitted, whichever
// generation was current when the place was taken. Otherwise: the error given to Fail
// after the place was taken; a *WaitError with the last verdict when ctx ended (it unwraps
// to context.Cause(ctx)); ErrClosed.
func (w Waiter) Wait(ctx context.Context) error { panic("skeleton") }

// WaitGeneration is Wait bound to one generation: it returns ErrSuperseded once gen is no
// longer the current one.
func (g *Gate) WaitGeneration(ctx context.Context, gen Generation) error { panic("skeleton") }
