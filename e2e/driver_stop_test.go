//go:build e2e

package e2e

import (
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// testStop: a task at whatever depth ends in time, politely where it can; one that ignores
// SIGTERM ends too.
func (d *driven) testStop() {
	stubborn := map[string]string{"E2E_STUBBORN": "1"}
	stops := []struct {
		job   string
		depth depth
		env   map[string]string
		want  string
	}{
		{"stop-awake", awake, nil, "Terminated: Exit Code: 0"},
		{"stop-frozen", frozen, nil, "Terminated: Exit Code: 0"},
		{"stop-parked", parked, nil, "Terminated: Exit Code: 0"},
		{"stop-stubborn", awake, stubborn, "Exit Code: 137, Signal: 9"},
		{"stop-stubborn-frozen", frozen, stubborn, "Exit Code: 137, Signal: 9"},
	}
	for _, s := range stops {
		d.register(drivenJob{id: s.job, env: s.env, config: map[string]any{"listen": "http"}})
	}
	for _, s := range stops {
		d.awaitRunning(s.job)
		d.bringTo(s.job, s.depth)
		d.stop(s.job)
	}
	for _, s := range stops {
		d.awaitEvent(s.job, s.want)
		d.awaitEvent(s.job, "Task successfully killed")
		d.await("every process of "+s.job+" to end", func() error {
			return noneOf(processesOf(d.t, d.alloc(s.job).ID))
		})
		checkKilledInTime(d.t, d.task(s.job))
	}
}

// checkKilledInTime looks whether a task ended within its kill_timeout, and a second for those
// that had to be killed.
func checkKilledInTime(t testing.TB, state *nomad.TaskState) {
	t.Helper()
	for _, event := range state.Events {
		told := time.Unix(0, event.Time)
		took := state.FinishedAt.Sub(told)
		if event.Type == nomad.TaskKilling && took > killTimeout+time.Second {
			t.Errorf("it took %s to end, of a kill_timeout of %s:\n%s", took, killTimeout,
				eventsOf(state))
		}
	}
}
