package drivertest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"doze/plugins/drivers"
	"doze/plugins/host"
)

// Subject is a driver to hold to the contract.
type Subject struct {
	Config
	// Long is the `config` block of a task that runs until it is stopped, and Short
	// of one that ends by itself, soon and with code 0.
	Long, Short map[string]any
	// Prepare, if not nil, completes a task before it is started: its ports, user,
	// files.
	Prepare func(t *testing.T, task *Task)
	// Signals are sent to a long task one after another, where a driver puts tasks to sleep by
	// signals: the restarts find it so. Nil: none.
	Signals []string
	// Forgetful is a driver whose process alone knows how a task has ended: another can
	// neither recover one that has, nor tell the exit code of one that it has recovered.
	Forgetful bool
}

// Contract runs every test that a driver has to pass whatever it does: those of the
// protocol that the SDK cannot take over from it.
func Contract(t *testing.T, s Subject) {
	clauses := []clause{
		{"fingerprint_namesItsAttributes_afterTheDriver", fingerprintNames},
		{"wait_manyTimesDuringAndAfter_allGetTheResult", manyWaits},
		{"wait_callerLeaves_taskGoesOn", waiterLeaves},
		{"stop_returned_taskHasExited", stopWaits},
		{"stop_twiceAndUnknown_isNoError", stopTwice},
		{"destroy_runningTask_needsForce", destroyRunning},
		{"state_everyCallInEachOne_answersAsDocumented", everyCallInEveryState},
		{"order_callsAtRandom_neitherHangNorCrash", storms},
		{"streams_callersLeave_nothingStaysOpen", streamCallersLeave},
		{"recover_twice_isIdempotent", recoverTwice},
		{"recover_garbage_isAnError", recoverGarbage},
		{"restart_agentTerminated_taskGoesOn", agentTerminated},
		{"restart_agentKilled_taskGoesOn", agentKilled},
		{"restart_pluginKilled_taskGoesOn", pluginKilled},
		{"restart_pluginKilledBetweenAnyTwoCalls_endIsTheSame", killedBetweenCalls},
		{"restart_pluginKilledDuringAStop_endsAllTheSame", killedDuringStop},
		{"restart_sameAllocation_newIdRuns", sameAllocation},
	}
	if !s.Forgetful { // else nobody knows of a task that was started without an answer
		clauses = append(clauses,
			clause{"restart_pluginKilledDuringAStart_runsOnce", killedDuringStart})
	}
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

type clause struct {
	name string
	test func(*testing.T, Subject)
}

// boot starts an agent, and a task of the config block on it.
func (s Subject) boot(t *testing.T, config map[string]any) (*Agent, *Task) {
	t.Helper()
	a := Boot(t, s.Config)
	task := s.newTask(a, config)
	_, err := a.Run(task.TaskConfig)
	a.must("start the task", err)
	return a, task
}

func (s Subject) newTask(a *Agent, config map[string]any) *Task {
	a.t.Helper()
	task := a.NewTask("task", config)
	if s.Prepare != nil {
		s.Prepare(a.t, task)
	}
	return task
}

// lull puts a long task to sleep, where the driver has a way.
func (s Subject) lull(a *Agent, task *Task) {
	a.t.Helper()
	for _, signal := range s.Signals {
		a.must("send "+signal, a.Signal(patient(a.t), task.ID, signal))
	}
}

// ctx is long enough for anything that does not hang.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func fingerprintNames(t *testing.T, s Subject) {
	a := Boot(t, s.Config)
	f := a.Fingerprints()[0]
	if f.Health != drivers.Healthy {
		t.Errorf("the driver is %s: %s", f.Health, f.Reason)
	}
	for name := range f.Attributes {
		if !strings.HasPrefix(name, "driver."+a.Info.Name) {
			t.Errorf("attribute %q should begin with %q", name, "driver."+a.Info.Name+".")
		}
	}
}

func manyWaits(t *testing.T, s Subject) {
	a, task := s.boot(t, s.Short)
	ctx := patient(t)
	var waiters sync.WaitGroup
	for range 5 {
		waiters.Go(func() {
			if r, err := a.Wait(ctx, task.ID); err != nil || r.Code != 0 || r.Signal != 0 {
				t.Errorf("Wait returned %+v, %v", r, err)
			}
		})
	}
	waiters.Wait()
	for range 2 {
		if r, err := a.Wait(ctx, task.ID); err != nil || r.Code != 0 || r.Signal != 0 {
			t.Errorf("after the exit Wait returned %+v, %v", r, err)
		}
	}
	a.must("destroy the ended task", a.Destroy(ctx, task.ID, false))
	if _, err := a.Wait(ctx, task.ID); err == nil {
		t.Error("after Destroy Wait had no error")
	}
}

func waiterLeaves(t *testing.T, s Subject) {
	a, task := s.boot(t, s.Long)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if r, err := a.Wait(ctx, task.ID); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Wait returned %+v, %v", r, err)
	}
	stillRuns(t, a, task)
}

func destroyRunning(t *testing.T, s Subject) {
	a, task := s.boot(t, s.Long)
	ctx := patient(t)
	if err := a.Destroy(ctx, task.ID, false); err == nil {
		t.Error("a running task was destroyed without force")
	}
	a.must("destroy with force", a.Destroy(ctx, task.ID, true))
	a.must("destroy it again", a.Destroy(ctx, task.ID, true))
}

// storms are a few orders of the calls.
func storms(t *testing.T, s Subject) {
	for seed := range uint64(3) {
		Storm(t, s, seed)
	}
}

func recoverTwice(t *testing.T, s Subject) {
	a, task := s.boot(t, s.Long)
	for range 2 {
		a.must("recover a task that is known", a.RecoverAll())
	}
	stillRuns(t, a, task)
}

func recoverGarbage(t *testing.T, s Subject) {
	a := Boot(t, s.Config)
	ctx := patient(t)
	noise := []byte(strings.Repeat("\xff", 1000))
	for _, state := range [][]byte{nil, {}, {0}, []byte("{"), noise} {
		h := drivers.Handle{Version: 9999, State: state,
			Task: drivers.TaskConfig{ID: "x/y/z", Name: "y"}}
		if err := a.Recover(ctx, h); err == nil {
			t.Errorf("Recover took the state %.20q", state)
		} else if errors.Is(err, host.ErrExited) {
			t.Fatalf("Recover of the state %.20q ended the plugin", state)
		}
	}
}
