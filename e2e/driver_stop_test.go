//go:build e2e

package e2e

import "time"

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
	began := map[string]time.Time{}
	for _, s := range stops {
		d.awaitRunning(s.job)
		d.bringTo(s.job, s.depth)
		began[s.job] = time.Now()
		_, _, err := d.client.Jobs().Deregister(s.job, false, d.write())
		fail(d.t, err)
	}
	for _, s := range stops {
		d.awaitEvent(s.job, s.want)
		d.awaitEvent(s.job, "Task successfully killed")
		d.await("every process of "+s.job+" to end", func() error {
			return noneOf(processesOf(d.t, d.alloc(s.job).ID))
		})
		finished := d.task(s.job).FinishedAt
		if took := finished.Sub(began[s.job]); took > killTimeout+2*time.Second {
			d.t.Errorf("%s took %s to end, of a kill_timeout of %s", s.job, took, killTimeout)
		}
	}
}
