//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"
)

// testSleep: a task sleeps in place, at the depth it was told to, and a connection wakes it;
// Nomad sees a running task all the time.
func testSleep(t *testing.T, d *driven) {
	d.run(drivenJob{id: "ladder", config: map[string]any{"listen": "http",
		"freeze_after": "1s", "park_after": "3s", "shield": []string{"/healthz"}}})
	d.run(drivenJob{id: "signals", config: map[string]any{"listen": "http", "freeze_after": ""}})
	d.run(drivenJob{id: "born", config: map[string]any{"listen": "http", "start": "on_demand"}})
	for _, step := range []struct {
		name string
		test func(*driven)
	}{
		{"by itself, deeper and deeper", (*driven).testLadder},
		{"by signals", (*driven).testSleepSignals},
		{"born parked", (*driven).testBornParked},
	} {
		t.Run(step.name, func(t *testing.T) { step.test(d.in(t)) })
	}
	for _, job := range []string{"ladder", "signals", "born"} {
		d.checkNeverRestarted(job)
	}
	for _, words := range []string{"frozen", "parked", "ready"} {
		d.awaitEvent("ladder", words)
	}
}

func (d *driven) testLadder() {
	first, _ := d.whoAnswers("ladder")
	d.awaitDepth("ladder", frozen)
	if body := d.mustGet("ladder", "/healthz"); d.depth("ladder") != frozen {
		d.t.Errorf("a shielded path woke the task: %q", body)
	}
	if again, _ := d.whoAnswers("ladder"); again != first {
		d.t.Errorf("the process from %s answers after a thaw, not %s", again, first)
	}
	d.awaitDepth("ladder", parked)
	if now, _ := d.whoAnswers("ladder"); now == first {
		d.t.Errorf("the process from %s answers after it was parked", now)
	}
}

func (d *driven) testSleepSignals() {
	for name, want := range map[string]depth{"SIGSTOP": frozen, "SIGTSTP": parked} {
		d.whoAnswers("signals")
		d.sleep("signals", name, want)
		d.signal("signals", "SIGCONT")
		if got := d.depth("signals"); got != awake {
			d.t.Errorf("after %s and SIGCONT it is %s", name, got)
		}
	}
}

func (d *driven) testBornParked() {
	if got := d.depth("born"); got != parked {
		d.t.Errorf("before its first connection it is %s", got)
	}
	start := time.Now()
	d.mustGet("born", "/")
	d.t.Logf("its first answer came after %s", time.Since(start))
}

// depth is how deep a task sleeps, as the machine has it.
type depth string

const (
	awake  depth = "awake"
	frozen depth = "frozen"
	parked depth = "parked"
)

func (d *driven) depth(job string) depth {
	d.t.Helper()
	return depthOf(d.t, d.alloc(job).ID)
}

// depthOf is the depth of an allocation's task; it asks nobody but the kernel.
func depthOf(t testing.TB, allocID string) depth {
	t.Helper()
	pids := processesOf(t, allocID)
	if len(pids) == 0 {
		return parked
	}
	for _, pid := range pids {
		if isFrozen(t, pid) {
			return frozen
		}
	}
	return awake
}

// sleep puts a task to sleep by a signal. What is left of an earlier connection, its end, may
// wake it once more, or keep one in use that holds its socket itself.
func (d *driven) sleep(job, signal string, want depth) {
	d.t.Helper()
	d.await(fmt.Sprintf("%s to be %s", job, want), func() error {
		err := d.client.Allocations().Signal(d.alloc(job), d.query(), "app", signal)
		if err != nil {
			return err
		}
		if got := d.depth(job); got != want {
			return fmt.Errorf("after %s it is %s", signal, got)
		}
		return nil
	})
}

// bringTo wakes a task, and puts it to sleep where it is to be asleep.
func (d *driven) bringTo(job string, depth depth) {
	d.t.Helper()
	switch depth {
	case awake:
		d.whoAnswers(job)
	case frozen:
		d.whoAnswers(job) // what is parked is not frozen
		d.sleep(job, "SIGSTOP", frozen)
	case parked:
		d.sleep(job, "SIGTSTP", parked)
	}
}

func (d *driven) awaitDepth(job string, want depth) {
	d.t.Helper()
	d.await(fmt.Sprintf("%s to be %s", job, want), func() error {
		if got := d.depth(job); got != want {
			return fmt.Errorf("it is %s: %s", got, eventsOf(d.task(job)))
		}
		return nil
	})
}
