//go:build e2e

package e2e

import (
	"net"
	"strings"
	"testing"
	"time"
)

// testSocket: with `activation = "socket"` the app holds the port itself, and sleeps and wakes
// as any other.
func testSocket(t *testing.T, d *driven) {
	for _, step := range []struct {
		name string
		test func(*driven)
	}{
		{"by itself, deeper and deeper", (*driven).testSocketLadder},
		{"by signals", (*driven).testSocketSignals},
		{"an open connection keeps it awake", (*driven).testSocketInUse},
		{"its port in use", (*driven).testSocketSquatted},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			step.test(d.in(t))
		})
	}
}

func socketConfig(freezeAfter, parkAfter string) map[string]any {
	return map[string]any{"listen": "http", "activation": "socket",
		"freeze_after": freezeAfter, "park_after": parkAfter}
}

func (d *driven) testSocketLadder() {
	d.run(drivenJob{id: "socket", config: socketConfig("1s", "3s")})
	first, _ := d.whoAnswers("socket")
	d.awaitDepth("socket", frozen)
	if again, _ := d.whoAnswers("socket"); again != first {
		d.t.Errorf("the process from %s answers after a thaw, not %s", again, first)
	}
	d.awaitDepth("socket", parked)
	if second, _ := d.whoAnswers("socket"); second == first {
		d.t.Errorf("the process from %s answers after it was parked", first)
	}
	for _, words := range []string{"frozen", "parked", "ready"} {
		d.awaitEvent("socket", words)
	}
	d.checkNeverRestarted("socket")
}

func (d *driven) testSocketSignals() {
	d.run(drivenJob{id: "socket-signals", config: socketConfig("", "")})
	for name, want := range map[string]depth{"SIGSTOP": frozen, "SIGTSTP": parked} {
		d.whoAnswers("socket-signals")
		d.sleep("socket-signals", name, want)
		d.signal("socket-signals", "SIGCONT")
		if got := d.depth("socket-signals"); got != awake {
			d.t.Errorf("after %s and SIGCONT it is %s", name, got)
		}
	}
	d.checkNeverRestarted("socket-signals")
}

// testSocketInUse: nobody is frozen under an open connection, neither after a while nor by
// command; its end lets the task sleep.
func (d *driven) testSocketInUse() {
	d.run(drivenJob{id: "socket-used", config: socketConfig("500ms", "")})
	d.whoAnswers("socket-used")
	var conn client
	fail(d.t, conn.dial(d.addr("socket-used")))
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		if got := d.depth("socket-used"); got != awake {
			d.t.Fatalf("under an open connection it is %s", got)
		}
	}
	err := d.client.Allocations().Signal(d.alloc("socket-used"), d.query(), "app", "SIGSTOP")
	if err == nil || !strings.Contains(err.Error(), "the task is in use") {
		d.t.Errorf("SIGSTOP under an open connection: %v", err)
	}
	if _, err := conn.get(); err != nil {
		d.t.Errorf("the connection: %v", err)
	}
	conn.close()
	d.awaitDepth("socket-used", frozen)
}

func (d *driven) testSocketSquatted() {
	squatter, err := net.Listen("tcp", "127.0.0.1:0")
	fail(d.t, err)
	defer squatter.Close()
	d.register(drivenJob{id: "socket-squat", config: socketConfig("", ""),
		port: squatter.Addr().(*net.TCPAddr).Port})
	d.awaitEvent("socket-squat", "the port is in use")
}

// checkNeverRestarted: what happened to the task was no exit.
func (d *driven) checkNeverRestarted(job string) {
	d.t.Helper()
	if state := d.task(job); state.State != "running" || state.Restarts > 0 {
		d.t.Errorf("%s is %s after %d restarts:\n%s", job, state.State, state.Restarts,
			eventsOf(state))
	}
}
