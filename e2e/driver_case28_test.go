//go:build e2e

package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// testFieldCase28 is field case 28: what is not ready is not frozen, what is frozen is not
// probed, and a frozen process handles no signal, so it is thawed before it gets one and can
// end as politely as any other.
func testFieldCase28(t *testing.T, d *driven) {
	for _, part := range []struct {
		name string
		test func(*driven)
	}{
		{"frozen only when it has been ready", func(d *driven) { d.testReadyFirst("relay") }},
		{"so where it holds its socket", func(d *driven) { d.testReadyFirst("socket") }},
		{"frozen once, and not probed", (*driven).testNoFlapping},
		{"thawed before any signal", (*driven).testThawedFirst},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(d.in(t))
		})
	}
}

// testReadyFirst: an app that takes longer to boot than it may idle is left alone until it is
// ready, also by a command. The kernel takes connections for one that holds its socket long
// before it accepts any.
func (d *driven) testReadyFirst(activation string) {
	const boot = 3 * time.Second
	job := "late-" + activation
	d.run(drivenJob{id: job, config: map[string]any{"listen": "http", "freeze_after": "200ms",
		"activation": activation},
		env: map[string]string{"E2E_DELAY": boot.String()}})
	err := d.client.Allocations().Signal(d.alloc(job), d.query(), "app", "SIGSTOP")
	if err == nil || !strings.Contains(err.Error(), "it has not been ready yet") {
		d.t.Errorf("SIGSTOP before it is ready: %v", err)
	}
	d.await("its port to be open", func() error {
		depth := d.depth(job) // before it is known whether it still boots
		log, err := d.log(job)
		if err != nil || strings.Contains(log, "begins") {
			return err
		}
		if depth != awake {
			d.t.Fatalf("before it is ready it is %s", depth)
		}
		return errors.New("it still boots")
	})
	d.awaitDepth(job, frozen)
	d.awaitEvent(job, "frozen")
	events := eventsOf(d.task(job))
	if ready := strings.Index(events, "ready"); ready < 0 || ready > strings.Index(events, "frozen") {
		d.t.Errorf("it was frozen before it was ready:\n%s", events)
	}
}

// testNoFlapping: once it is frozen nothing of Doze's own, which probes every 100 ms while it
// is awake, lets its process run.
func (d *driven) testNoFlapping() {
	d.run(drivenJob{id: "calm", config: map[string]any{"listen": "http", "freeze_after": "500ms",
		"probe": []map[string]any{{"http": []map[string]any{{"path": "/", "interval": "100ms"}}}}}})
	d.awaitDepth("calm", frozen)
	pids := processesOf(d.t, d.alloc("calm").ID)
	before := turnsOf(d.t, pids)
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); {
		if got := d.depth("calm"); got != frozen {
			d.t.Fatalf("nobody has asked for it, and it is %s", got)
		}
	}
	if after := turnsOf(d.t, pids); after != before {
		d.t.Errorf("its processes ran %d times while they were frozen", after-before)
	}
	if events := eventsOf(d.task("calm")); strings.Count(events, "frozen") != 1 {
		d.t.Errorf("it was frozen more than once:\n%s", events)
	}
}

// testThawedFirst: see also testStop for those that ignore SIGTERM.
func (d *driven) testThawedFirst() {
	d.run(drivenJob{id: "polite", config: map[string]any{"listen": "http"}})
	d.bringTo("polite", frozen)
	d.signal("polite", "SIGUSR1")
	d.awaitLog("polite", "told SIGUSR1")
	d.bringTo("polite", frozen)
	d.stop("polite")
	d.awaitEvent("polite", "Terminated: Exit Code: 0")
	if events := eventsOf(d.task("polite")); strings.Contains(events, "Signal: ") {
		d.t.Errorf("it was killed: %s", events)
	}
}
