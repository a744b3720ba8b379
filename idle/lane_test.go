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

// watchful is a workload that goes on watching what it has woken until it is told to end,
// and that knows why what was found awake is not ready.
type watchful struct {
	group     *idle.Group
	up        bool
	why       error
	ended     *atomic.Int32 // Wakes that were told to end
	explained *atomic.Int32
}

func (w *watchful) Wake(ctx context.Context, _ healthgate.Generation) error {
	w.group.SetTargets(target())
	<-ctx.Done()
	if context.Cause(ctx) == idle.ErrSuperseded {
		w.ended.Add(1)
	}
	return context.Cause(ctx)
}

func (w *watchful) Sleep(context.Context, healthgate.Generation, idle.Depth, string) error {
	return nil
}

func (w *watchful) Explain(ctx context.Context) error {
	w.explained.Add(1)
	return w.why
}

func (w *watchful) dial(context.Context, string, string) (net.Conn, error) {
	if !w.up {
		return nil, errRefused
	}
	ours, theirs := net.Pipe()
	return ours, theirs.Close()
}

// watchfulCrowd is many such groups on a loop with few lanes.
type watchfulCrowd struct {
	loop             *idle.Loop
	groups           []*idle.Group
	ended, explained atomic.Int32
}

// inCrowd runs a test among n groups; the loop lets four wakes run at once.
func inCrowd(t *testing.T, n int, w watchful, o idle.Observation,
	test func(*testing.T, *watchfulCrowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &watchfulCrowd{loop: idle.NewLoop(idle.Config{MaxWakes: 4})}
		w.ended, w.explained = &c.ended, &c.explained
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		for i := range n {
			own := w
			g, err := c.loop.Add(idle.GroupConfig{
				ID: idle.GroupID{Job: "shop", Group: string(rune('a' + i))}, Policy: policy(),
				Gate:     healthgate.GateConfig{Probe: healthgate.ProbeConfig{Dial: own.dial}},
				Workload: &own, Observed: o,
			})
			if err != nil {
				t.Fatal(err)
			}
			own.group = g
			c.groups = append(c.groups, g)
		}
		go func() { done <- c.loop.Run(ctx) }()
		test(t, c)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestLoop_groupReady_freesItsLaneForTheNextWake: a wake that goes on watching the workload
// (Nomad says "running" a second late) does not keep a storm of wakes waiting. Without the
// cancelled call in becomeReady the fifth group times out.
func TestLoop_groupReady_freesItsLaneForTheNextWake(t *testing.T) {
	inCrowd(t, 20, watchful{up: true}, idle.Observation{}, func(t *testing.T, c *watchfulCrowd) {
		var clients sync.WaitGroup
		began := time.Now()
		for _, g := range c.groups {
			clients.Go(func() {
				g.Acquire()
				defer g.Release()
				if err := g.Await(t.Context(), "request"); err != nil {
					t.Errorf("%s: %v", g.ID(), err)
				}
			})
		}
		clients.Wait()
		synctest.Wait()
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the last of 20 groups was ready after %s", took)
		}
		if n := c.ended.Load(); n != 20 {
			t.Errorf("%d wakes were told that they are no longer wanted, want 20", n)
		}
	})
}

// TestLoop_adoptedGroupsOverdue_failWithTheWorkloadsReason: nobody has called Wake for what
// was found awake, but the operator is told why it does not get ready.
func TestLoop_adoptedGroupsOverdue_failWithTheWorkloadsReason(t *testing.T) {
	why := errors.New("no place for it: memory exhausted on 1 node")
	found := idle.Observation{Count: 1, Cause: "found at start"}
	inCrowd(t, 20, watchful{why: why}, found, func(t *testing.T, c *watchfulCrowd) {
		time.Sleep(policy().WakeTimeout - time.Millisecond)
		synctest.Wait()
		if n := c.explained.Load(); n != 0 {
			t.Errorf("%d were asked before the wake timeout", n)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		for _, g := range c.groups {
			if s := g.Status(); s.State != idle.Failed || s.Err != why.Error() {
				t.Errorf("%s is %s: %q", g.ID(), s.State, s.Err)
			}
		}
		if n := c.explained.Load(); n != 20 {
			t.Errorf("%d were asked why, want 20", n)
		}
	})
}

// TestLoop_adoptedGroupsReady_costNoCall: thousands are found awake at a start, and well.
func TestLoop_adoptedGroupsReady_costNoCall(t *testing.T) {
	found := idle.Observation{Count: 1, Cause: "found at start"}
	inCrowd(t, 20, watchful{up: true}, found, func(t *testing.T, c *watchfulCrowd) {
		for _, g := range c.groups {
			g.SetTargets(target())
		}
		time.Sleep(policy().WakeTimeout + time.Second)
		synctest.Wait()
		for _, g := range c.groups {
			if s := g.Status(); s.State != idle.Ready {
				t.Errorf("%s is %s", g.ID(), s.State)
			}
		}
		if n := c.explained.Load(); n != 0 {
			t.Errorf("%d were asked why", n)
		}
	})
}
