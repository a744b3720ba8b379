package healthgate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

// simulation drives one gate through a random schedule and checks, whenever all is quiet,
// what must hold at any time.
type simulation struct {
	*scene
	rng     *rand.Rand
	gen     healthgate.Generation
	shut    bool
	forced  bool           // OpenAnyway was called in this generation
	members map[string]int // address → how often it had accepted when it entered
	opened  bool           // somebody has been admitted in this generation
	waiters []*simWaiter
}

type simWaiter struct {
	deadline time.Time
	done     <-chan error
	until    *time.Time // when it was released
}

var errSimulated = errors.New("the wake failed")

func TestGate_randomSchedules_keepTheInvariants(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			sim := &simulation{
				scene: newScene(t, healthgate.GateConfig{Probe: healthgate.ProbeConfig{Fall: 2}}),
				rng:   rand.New(rand.NewPCG(seed, 0)), shut: true,
			}
			for range 60 {
				step := sim.step()
				synctest.Wait()
				sim.check(fmt.Sprintf("seed %d, %s", seed, step))
			}
			sim.Close()
			synctest.Wait()
			sim.collect("after Close")
			if len(sim.waiters) > 0 {
				t.Errorf("seed %d: %d waiters outlive Close", seed, len(sim.waiters))
			}
		})
	}
}

func (s *simulation) step() string {
	addr := fmt.Sprintf("app:%d", s.rng.IntN(3))
	switch s.rng.IntN(12) {
	case 0, 1:
		s.gen++
		s.shut, s.forced, s.opened, s.members = false, false, false, nil
		s.Arm(s.gen)
		return "Arm"
	case 2:
		s.shut, s.members = true, nil
		s.Shut()
		return "Shut"
	case 3, 4:
		return s.update()
	case 5:
		s.net.answer(addr)
		return addr + " up"
	case 6:
		s.net.refuse(addr)
		return addr + " down"
	case 7:
		s.Fail(s.gen, errSimulated)
		return "Fail"
	case 8:
		if m := s.Pick(); m != nil && s.members != nil {
			s.members[m.Addr] = s.net.accepted(m.Addr) // has to pass anew
			s.Report(m, healthgate.ErrDial)
			return "Report " + m.Addr
		}
	case 9:
		s.wait(time.Duration(s.rng.IntN(3000)) * time.Millisecond)
		return "Wait"
	case 10:
		if s.rng.IntN(4) == 0 {
			s.forced = s.OpenAnyway(s.gen) || s.forced
			return "OpenAnyway"
		}
	}
	time.Sleep(time.Duration(s.rng.IntN(400)) * time.Millisecond)
	return "time passes"
}

func (s *simulation) update() string {
	var addrs []string
	members := map[string]int{}
	for i := range 3 {
		addr := fmt.Sprintf("app:%d", i)
		if s.rng.IntN(2) == 0 {
			continue
		}
		addrs = append(addrs, addr)
		before, known := s.members[addr]
		if !known {
			before = s.net.accepted(addr)
		}
		members[addr] = before
	}
	if !s.shut {
		s.members = members
	}
	s.Update(s.gen, targets(addrs...))
	return fmt.Sprint("Update ", addrs)
}

func (s *simulation) wait(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	w := &simWaiter{deadline: time.Now().Add(d), until: new(time.Time)}
	place := s.Waiter()
	w.done = outcome(func() error {
		defer cancel()
		defer func() { *w.until = time.Now() }()
		return place.Wait(ctx)
	})
	s.waiters = append(s.waiters, w)
}

func (s *simulation) check(at string) {
	s.t.Helper()
	m := s.Pick()
	s.opened = s.opened || m != nil || s.called(fmt.Sprintf("ready %d", s.gen))
	s.collect(at)
	if m == nil {
		return
	}
	before, member := s.members[m.Addr]
	switch {
	case s.shut:
		s.t.Errorf("%s: a shut gate admits to %s", at, m.Addr)
	case m.Generation != s.gen:
		s.t.Errorf("%s: admits to %s of generation %d, not %d", at, m.Addr, m.Generation, s.gen)
	case !member:
		s.t.Errorf("%s: admits to %s, which has left", at, m.Addr)
	case !s.forced && s.net.accepted(m.Addr) == before:
		s.t.Errorf("%s: admits to %s, which has not passed in this wake", at, m.Addr)
	}
}

func (s *simulation) called(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.calls, what)
}

// collect looks at who has been released since the last step.
func (s *simulation) collect(at string) {
	s.t.Helper()
	var waiting []*simWaiter
	for _, w := range s.waiters {
		select {
		case err := <-w.done:
			s.judge(at, w, err)
		default:
			waiting = append(waiting, w)
			if time.Now().After(w.deadline) {
				s.t.Errorf("%s: a waiter outlived its deadline", at)
			}
		}
	}
	s.waiters = waiting
}

func (s *simulation) judge(at string, w *simWaiter, err error) {
	s.t.Helper()
	late := w.until.After(w.deadline)
	_, timedOut := errors.AsType[*healthgate.WaitError](err)
	switch {
	case late:
		s.t.Errorf("%s: released %s after its deadline", at, w.until.Sub(w.deadline))
	case err == nil && (s.shut || !s.opened):
		s.t.Errorf("%s: released though nobody has been admitted in generation %d", at, s.gen)
	case err != nil && !timedOut && err != errSimulated && err != healthgate.ErrClosed:
		s.t.Errorf("%s: released with %v", at, err)
	}
}
