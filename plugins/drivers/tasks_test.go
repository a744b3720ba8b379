package drivers_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/plugins/drivers"
)

// clock is a task that runs until it is stopped or killed.
type clock struct {
	mu       sync.Mutex
	end      chan drivers.ExitResult
	deaf     bool // does not listen to Stop
	immortal bool
	asked    []string
}

func newClock() *clock { return &clock{end: make(chan drivers.ExitResult, 10)} }

func (*clock) State() []byte { return []byte("state") }

func (c *clock) Wait() drivers.ExitResult { return <-c.end }

func (c *clock) Stop(signal string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, "stop "+signal)
	if signal == "SIGNONSENSE" {
		return errors.New("there is no such signal")
	}
	if !c.deaf {
		c.end <- drivers.ExitResult{Code: 7}
	}
	return nil
}

func (c *clock) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, "kill")
	if c.immortal {
		return errors.New("not permitted")
	}
	c.end <- drivers.ExitResult{Signal: 9}
	return nil
}

func (c *clock) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.asked, ", ")
}

type clocks = drivers.Tasks[*clock]

func launch(t *testing.T, ts *clocks, id string) *clock {
	t.Helper()
	c := newClock()
	started, err := ts.Launch(drivers.TaskConfig{ID: id, Name: "n", AllocID: "a"},
		func() (*clock, error) { return c, nil })
	if err != nil || string(started.State) != "state" {
		t.Fatalf("Launch returned %+v, %v", started, err)
	}
	return c
}

// bubble runs a test in a bubble, and ends what it has left running.
func bubble(t *testing.T, test func(t *testing.T, ts *clocks, ctx context.Context)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		test(t, &clocks{}, ctx)
	})
}

func TestTasks_launchedTwice_isAnErrorAndTheFirstGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, ts *clocks, ctx context.Context) {
		first := launch(t, ts, "x")
		_, err := ts.Launch(drivers.TaskConfig{ID: "x"}, func() (*clock, error) {
			t.Error("it was begun a second time")
			return newClock(), nil
		})
		if err == nil {
			t.Error("the second Launch had no error")
		}
		if found, err := ts.Find("x"); found != first || err != nil {
			t.Errorf("Find returned %v, %v", found, err)
		}
		if err := ts.Destroy(ctx, "x", true); err != nil {
			t.Error(err)
		}
	})
}

func TestTasks_failedToBegin_isNotKnown(t *testing.T) {
	bubble(t, func(t *testing.T, ts *clocks, ctx context.Context) {
		broken := errors.New("no disk")
		fail := func() (*clock, error) { return nil, broken }
		for range 2 { // it may be tried again
			if _, err := ts.Launch(drivers.TaskConfig{ID: "x"}, fail); !errors.Is(err, broken) {
				t.Errorf("Launch returned %v", err)
			}
		}
		h := drivers.Handle{Task: drivers.TaskConfig{ID: "x"}}
		err := ts.Adopt(ctx, h, func(drivers.Handle) (*clock, error) { return nil, broken })
		if !errors.Is(err, broken) {
			t.Errorf("Adopt returned %v", err)
		}
		if _, err := ts.Wait(ctx, "x"); !errors.Is(err, drivers.ErrTaskNotFound) {
			t.Errorf("Wait returned %v", err)
		}
	})
}

func TestTasks_adoptedByManyCalls_isLookedForOnce(t *testing.T) {
	bubble(t, func(t *testing.T, ts *clocks, ctx context.Context) {
		c, looked := newClock(), 0
		found := make(chan struct{})
		var calls sync.WaitGroup
		for range 5 {
			calls.Go(func() {
				h := drivers.Handle{Task: drivers.TaskConfig{ID: "x"}, State: []byte("s")}
				err := ts.Adopt(ctx, h, func(h drivers.Handle) (*clock, error) {
					looked++ // the others wait, or the race detector says so
					<-found
					return c, nil
				})
				if err != nil {
					t.Errorf("Adopt returned %v", err)
				}
			})
		}
		synctest.Wait()
		if _, err := ts.Wait(ctx, "x"); !errors.Is(err, drivers.ErrTaskNotFound) {
			t.Errorf("Wait for a task that is only looked for returned %v", err)
		}
		close(found)
		calls.Wait()
		if looked != 1 {
			t.Errorf("it was looked for %d times", looked)
		}
		if err := ts.Destroy(ctx, "x", true); err != nil {
			t.Error(err)
		}
	})
}

func TestTasks_adoptingCallerLeaves_getsTheCause(t *testing.T) {
	bubble(t, func(t *testing.T, ts *clocks, ctx context.Context) {
		found := make(chan struct{})
		find := func(drivers.Handle) (*clock, error) {
			<-found
			return nil, errors.New("gone")
		}
		h := drivers.Handle{Task: drivers.TaskConfig{ID: "x"}}
		go func() { _ = ts.Adopt(ctx, h, find) }() // is waited for by the bubble
		synctest.Wait()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := ts.Adopt(short, h, find); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Adopt returned %v", err)
		}
		close(found)
	})
}

func TestTasks_wait_givesTheResultToAllDuringAndAfter(t *testing.T) {
	bubble(t, func(t *testing.T, ts *clocks, ctx context.Context) {
		c := launch(t, ts, "x")
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := ts.Wait(short, "x"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that left got %v", err)
		}
		var waiters sync.WaitGroup
		for range 3 {
			waiters.Go(func() {
				if r, err := ts.Wait(ctx, "x"); err != nil || r.Code != 3 {
					t.Errorf("Wait returned %+v, %v", r, err)
				}
			})
		}
		synctest.Wait()
		c.end <- drivers.ExitResult{Code: 3}
		waiters.Wait()
		if r, err := ts.Wait(ctx, "x"); err != nil || r.Code != 3 {
			t.Errorf("afterwards Wait returned %+v, %v", r, err)
		}
		if _, err := ts.Find("x"); !errors.Is(err, drivers.ErrTaskExited) {
			t.Errorf("Find returned %v", err)
		}
	})
}

func TestTasks_stop_asksAndKillsAfterTheTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		how  drivers.StopRequest
		deaf bool
		want string
		took time.Duration
		exit drivers.ExitResult
	}{
		"it listens": {drivers.StopRequest{Signal: "SIGINT", Timeout: time.Minute}, false,
			"stop SIGINT", 0, drivers.ExitResult{Code: 7}},
		"it is deaf": {drivers.StopRequest{Timeout: time.Minute}, true,
			"stop , kill", time.Minute, drivers.ExitResult{Signal: 9}},
		"no time": {drivers.StopRequest{Signal: "SIGINT"}, false,
			"kill", 0, drivers.ExitResult{Signal: 9}},
		"no such signal": {drivers.StopRequest{Signal: "SIGNONSENSE", Timeout: time.Minute}, false,
			"stop SIGNONSENSE, kill", 0, drivers.ExitResult{Signal: 9}},
	} {
		bubble(t, func(t *testing.T, ts *clocks, ctx context.Context) {
			task := launch(t, ts, "x")
			task.deaf = c.deaf
			began := time.Now()
			if err := ts.Stop(ctx, "x", c.how); err != nil {
				t.Errorf("%s: Stop returned %v", name, err)
			}
			if task.said() != c.want || time.Since(began) != c.took {
				t.Errorf("%s: it was told %q in %s", name, task.said(), time.Since(began))
			}
			if r, err := ts.Wait(ctx, "x"); err != nil || r != c.exit {
				t.Errorf("%s: Wait returned %+v, %v", name, r, err)
			}
			if err := ts.Stop(ctx, "x", c.how); !errors.Is(err, drivers.ErrTaskExited) {
				t.Errorf("%s: a second Stop returned %v", name, err)
			}
		})
	}
}

func TestTasks_signalThatCannotBeSent_isToldInAnEvent(t *testing.T) {
	bubble(t, func(t *testing.T, ts *clocks, ctx context.Context) {
		launch(t, ts, "x")
		how := drivers.StopRequest{Signal: "SIGNONSENSE", Timeout: time.Minute}
		if err := ts.Stop(ctx, "x", how); err != nil {
			t.Fatal(err)
		}
		err := ts.Events(ctx, func(e drivers.Event) error {
			if e.TaskID != "x" || e.AllocID != "a" || !strings.Contains(e.Message, "no such signal") {
				t.Errorf("the event is %+v", e)
			}
			return context.Canceled
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestTasks_stoppingCallerLeaves_taskIsNotKilled(t *testing.T) {
	bubble(t, func(t *testing.T, ts *clocks, ctx context.Context) {
		c := launch(t, ts, "x")
		c.deaf = true
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		how := drivers.StopRequest{Timeout: time.Minute}
		if err := ts.Stop(short, "x", how); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop returned %v", err)
		}
		if c.said() != "stop " {
			t.Errorf("it was told %q", c.said())
		}
		if err := ts.Destroy(ctx, "x", true); err != nil {
			t.Error(err)
		}
	})
}

func TestTasks_destroy_needsForceWhileItRuns(t *testing.T) {
	bubble(t, func(t *testing.T, ts *clocks, ctx context.Context) {
		c := launch(t, ts, "x")
		if err := ts.Destroy(ctx, "x", false); err == nil {
			t.Error("a running task was destroyed without force")
		}
		c.immortal = true
		if err := ts.Destroy(ctx, "x", true); err == nil || !strings.Contains(err.Error(), "not permitted") {
			t.Errorf("the failed kill was told as %v", err)
		}
		if _, err := ts.Find("x"); err != nil {
			t.Errorf("a task that could not be killed is forgotten: %v", err)
		}
		c.immortal = false
		if err := ts.Destroy(ctx, "x", true); err != nil {
			t.Error(err)
		}
		for name, err := range map[string]error{
			"Destroy": ts.Destroy(ctx, "x", true), "Stop": ts.Stop(ctx, "x", drivers.StopRequest{}),
		} {
			if !errors.Is(err, drivers.ErrTaskNotFound) {
				t.Errorf("%s of a forgotten task returned %v", name, err)
			}
		}
	})
}

func TestTasks_inspect_tellsWhatIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T, ts *clocks, ctx context.Context) {
		began := time.Now()
		c := launch(t, ts, "x")
		s, err := ts.Inspect(ctx, "x")
		if err != nil || s.ID != "x" || s.Name != "n" || s.State != drivers.TaskRunning ||
			!s.StartedAt.Equal(began) || !s.CompletedAt.IsZero() {
			t.Errorf("of a running task it told %+v, %v", s, err)
		}
		time.Sleep(time.Minute)
		c.end <- drivers.ExitResult{Code: 3}
		synctest.Wait()
		s, err = ts.Inspect(ctx, "x")
		if err != nil || s.State != drivers.TaskExited || s.Exit.Code != 3 ||
			!s.CompletedAt.Equal(began.Add(time.Minute)) {
			t.Errorf("of an ended task it told %+v, %v", s, err)
		}
		if _, err := ts.Inspect(ctx, "y"); !errors.Is(err, drivers.ErrTaskNotFound) {
			t.Errorf("of an unknown task it told %v", err)
		}
	})
}
