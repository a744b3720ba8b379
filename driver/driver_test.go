package driver

import (
	"context"
	"errors"
	"os"
	"os/user"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"doze/driver/shepherd"
	"doze/plugins/drivers"
)

// newDriver is a configured driver whose tasks are in the flock. It has to be shut down.
func newDriver(t testing.TB, flock *fakeFlock) *Driver {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	d := New(Config{Version: "1.2.3", Flock: flock})
	d.agent.User, d.agent.AllowRoot = me.Username, true
	return d
}

// inBubble runs f with a driver in virtual time.
func inBubble(t *testing.T, f func(t *testing.T, d *Driver, flock *fakeFlock)) {
	synctest.Test(t, func(t *testing.T) {
		flock := &fakeFlock{}
		d := newDriver(t, flock)
		defer shutdown(t, d)
		f(t, d, flock)
	})
}

func shutdown(t *testing.T, d *Driver) {
	t.Helper()
	if err := d.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// mustStart starts the task of block.
func mustStart(t *testing.T, d *Driver) (task drivers.TaskConfig, started drivers.Started) {
	t.Helper()
	task = block(t, map[string]any{"command": "web", "args": []string{"-p", "$DOZE_PORT"},
		"listen": "http"})
	started, err := d.Start(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return task, started
}

func TestDriver_start_tellsTheShepherdEverything(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		mustStart(t, d)
		s := flock.only().spec
		if s.TaskID != "alloc/web/1" || s.Dir != "/alloc/web" || s.Listen != "10.0.0.1:23456" ||
			s.FreezeAfter != 30*time.Second || s.WakeTimeout != time.Minute {
			t.Errorf("got %+v", s)
		}
		if want := []string{"-p", "${DOZE_PORT}"}; !slices.Equal(s.Args, want) {
			t.Errorf("the arguments are %q, not %q", s.Args, want)
		}
	})
}

func TestDriver_startedAtOnceTwice_oneIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		flock.slow = time.Second
		task := block(t, map[string]any{"command": "web"})
		var refused atomic.Int32
		var starts sync.WaitGroup
		for range 5 {
			starts.Go(func() {
				if _, err := d.Start(t.Context(), task); err != nil {
					refused.Add(1)
				}
			})
		}
		starts.Wait()
		if refused.Load() != 4 || flock.launches != 1 {
			t.Errorf("%d of 5 were refused, with %d launches", refused.Load(), flock.launches)
		}
	})
}

func TestDriver_startTwice_isRefusedAndStartsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task, _ := mustStart(t, d)
		_, err := d.Start(t.Context(), task)
		if err == nil || !strings.Contains(err.Error(), "has been started already") {
			t.Errorf("got error %v", err)
		}
		if flock.launches != 1 {
			t.Errorf("there were %d launches", flock.launches)
		}
	})
}

// The plugin was killed after it had launched a task and before it could answer: Nomad
// starts the task again under the same id, in the next process.
func TestDriver_startedByAProcessThatDied_isTakenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		mustStart(t, d)
		next := newDriver(t, flock)
		defer shutdown(t, next)
		mustStart(t, next)
		if flock.launches != 1 {
			t.Errorf("there were %d launches", flock.launches)
		}
	})
}

// The plugin was killed in the middle of a launch: what is left of it is in the way.
func TestDriver_halfALaunchIsLeft_isTidiedUpBefore(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		d.agent.StateDir = ShortDir(t)
		left := d.dirOf("alloc/web/1")
		if err := os.Mkdir(left, 0o700); err != nil {
			t.Fatal(err)
		}
		mustStart(t, d)
		if want := []string{left}; !slices.Equal(flock.swept, want) {
			t.Errorf("swept were %q, not %q", flock.swept, want)
		}
	})
}

func TestDriver_startFails_isRecoverableWhereItMayDoLater(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task := block(t, map[string]any{"command": "web"})
		for want, refuse := range map[bool]error{
			true: syscall.EADDRINUSE, false: errors.New("there is no such program")} {
			flock.refuse = refuse
			_, err := d.Start(t.Context(), task)
			if _, is := errors.AsType[*drivers.RecoverableError](err); err == nil || is != want {
				t.Errorf("%v: got %v, recoverable %t", refuse, err, is)
			}
		}
	})
}

func TestDriver_startWithWrongConfig_tellsEveryProblem(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task := block(t, map[string]any{"command": "", "listen": "htpp"})
		_, err := d.Start(t.Context(), task)
		want := "config > command: is empty; name a program, as in local/web\n" +
			`config > listen: no port is labelled "htpp"; there are http`
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	})
}

// RecoverTask comes with an empty task id and an empty config, several times, and for a
// task that an earlier process has started.
func TestDriver_recover_worksFromDriverStateAloneAndAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		_, started := mustStart(t, d)
		next := newDriver(t, flock)
		defer shutdown(t, next)
		h := drivers.Handle{Version: started.Version, State: started.State}
		for range 3 {
			if err := next.Recover(t.Context(), h); err != nil {
				t.Fatal(err)
			}
		}
		flock.only().end(shepherd.Exit{Code: 3})
		for range 2 {
			exit, err := next.Wait(t.Context(), "alloc/web/1")
			if err != nil || exit.Code != 3 {
				t.Errorf("got %+v, %v", exit, err)
			}
		}
	})
}

// A shepherd that was killed while no plugin looked is the task's failure, as one that is
// killed before its eyes. An error would have Nomad start the task anew, whatever its restart
// block says, and tell nobody why.
func TestDriver_recoverAfterAShepherdsDeath_isTheTasksFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		d.agent.StateDir = ShortDir(t)
		task, started := mustStart(t, d)
		// what a shepherd that was killed leaves
		if err := os.Mkdir(d.dirOf(task.ID), 0o700); err != nil {
			t.Fatal(err)
		}
		flock.only().die()
		next := newDriver(t, flock)
		defer shutdown(t, next)
		if err := next.Recover(t.Context(), drivers.Handle{State: started.State}); err != nil {
			t.Fatal(err)
		}
		exit, err := next.Wait(t.Context(), task.ID)
		if err != nil || exit.Code == 0 || !strings.Contains(exit.Message, "shepherd has ended") {
			t.Errorf("got %+v, %v", exit, err)
		}
		if len(flock.swept) != 1 {
			t.Errorf("swept %v", flock.swept)
		}
		if err := next.Destroy(t.Context(), task.ID, true); err != nil {
			t.Error(err)
		}
	})
}

func TestDriver_recoverWhatIsGone_isAnError(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		_, started := mustStart(t, d)
		flock.only().die()
		next := newDriver(t, flock)
		defer shutdown(t, next)
		err := next.Recover(t.Context(), drivers.Handle{State: started.State})
		if !errors.Is(err, shepherd.ErrGone) {
			t.Errorf("got error %v", err)
		}
		if err := next.Recover(t.Context(), drivers.Handle{}); err == nil {
			t.Error("an empty state was recovered")
		}
	})
}

func TestDriver_manyWait_allHearOfOneExit(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task, _ := mustStart(t, d)
		var waiting sync.WaitGroup
		for range 50 {
			waiting.Go(func() {
				exit, err := d.Wait(t.Context(), task.ID)
				if err != nil || !exit.OOMKilled || exit.Signal != 9 ||
					exit.Code != 137 || exit.Message != "OOM Killed" {
					t.Errorf("got %+v, %v", exit, err)
				}
			})
		}
		synctest.Wait()
		flock.only().end(shepherd.Exit{Signal: 9, OOMKilled: true})
		waiting.Wait()
	})
}

func TestDriver_shepherdDies_isTheTasksFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		d.agent.StateDir = ShortDir(t)
		task, _ := mustStart(t, d)
		if err := os.Mkdir(d.dirOf(task.ID), 0o700); err != nil {
			t.Fatal(err)
		}
		go func() { time.Sleep(time.Second); flock.only().die() }()
		exit, err := d.Wait(t.Context(), task.ID)
		if err != nil || exit.Code == 0 || !strings.Contains(exit.Message, "shepherd") {
			t.Errorf("got %+v, %v", exit, err)
		}
		for _, err := range []error{
			d.Stop(t.Context(), task.ID, drivers.StopRequest{}),
			d.Destroy(t.Context(), task.ID, true),
		} {
			if err != nil {
				t.Errorf("a task without a shepherd: %v", err)
			}
		}
		if len(flock.swept) == 0 || flock.swept[0] != d.dirOf(task.ID) {
			t.Errorf("what was left of it was not ended: %q", flock.swept)
		}
	})
}

func TestDriver_stopAndDestroyTwice_succeed(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task, _ := mustStart(t, d)
		dog := flock.only()
		for range 2 {
			how := drivers.StopRequest{Signal: "sigint", Timeout: time.Second}
			if err := d.Stop(t.Context(), task.ID, how); err != nil {
				t.Error(err)
			}
		}
		if err := d.Destroy(t.Context(), task.ID, false); err != nil {
			t.Error(err)
		}
		err := d.Destroy(t.Context(), task.ID, false)
		if !errors.Is(err, drivers.ErrTaskNotFound) {
			t.Errorf("the second destroy: %v", err)
		}
		want := []string{"stop 1s SIGINT", "stop 1s SIGINT", "destroy"}
		if !slices.Equal(dog.calls, want) {
			t.Errorf("the shepherd was told %q, not %q", dog.calls, want)
		}
	})
}

func TestDriver_stopBySignalThatIsNone_stopsAllTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task, _ := mustStart(t, d)
		if err := d.Stop(t.Context(), task.ID, drivers.StopRequest{Signal: "SIGFOO"}); err != nil {
			t.Error(err)
		}
		if got := flock.only().calls; !slices.Equal(got, []string{"stop -1ns "}) {
			t.Errorf("the shepherd was told %q", got)
		}
	})
}

// What a shepherd that is killed while it tidies up has not done, the driver does.
func TestDriver_shepherdDiesInItsDestroy_isTidiedUpAfter(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		d.agent.StateDir = ShortDir(t)
		task, _ := mustStart(t, d)
		if err := os.Mkdir(d.dirOf(task.ID), 0o700); err != nil {
			t.Fatal(err)
		}
		flock.only().dies = true
		if err := d.Destroy(t.Context(), task.ID, true); err != nil {
			t.Error(err)
		}
		if !slices.Equal(flock.swept, []string{d.dirOf(task.ID)}) {
			t.Errorf("swept %q", flock.swept)
		}
	})
}

func TestDriver_destroyWhileItRuns_needsForce(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task, _ := mustStart(t, d)
		if err := d.Destroy(t.Context(), task.ID, false); err == nil {
			t.Error("a running task was destroyed without force")
		}
		if err := d.Destroy(t.Context(), task.ID, true); err != nil || flock.only() != nil {
			t.Errorf("with force: %v", err)
		}
	})
}

// After a failed recovery Nomad destroys a task that this process has never heard of, and
// starts it anew: it must not run twice.
func TestDriver_destroyOfATaskWhoseHandleIsLost_endsIt(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task, _ := mustStart(t, d)
		next := newDriver(t, flock)
		defer shutdown(t, next)
		if err := next.Stop(t.Context(), task.ID, drivers.StopRequest{}); err != nil {
			t.Error(err)
		}
		if err := next.Destroy(t.Context(), task.ID, true); err != nil || flock.only() != nil {
			t.Errorf("got error %v", err)
		}
	})
}

func TestDriver_unknownTask_isNotFoundByEveryCall(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, _ *fakeFlock) {
		ctx := t.Context()
		_, waitErr := d.Wait(ctx, "x")
		_, inspectErr := d.Inspect(ctx, "x")
		_, execErr := d.Exec(ctx, "x", drivers.Session{Command: []string{"ls"}})
		for call, err := range map[string]error{
			"wait": waitErr, "inspect": inspectErr, "exec": execErr,
			"stop":    d.Stop(ctx, "x", drivers.StopRequest{}),
			"destroy": d.Destroy(ctx, "", true),
			"signal":  d.Signal(ctx, "x", "SIGHUP"),
			"stats":   d.Stats(ctx, "x", time.Second, nil),
		} {
			if !errors.Is(err, drivers.ErrTaskNotFound) {
				t.Errorf("%s: got error %v", call, err)
			}
		}
	})
}
