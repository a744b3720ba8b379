package driver

import (
	"strings"
	"testing"

	"doze/plugins/drivers"
)

// With enabled = false a node gets no new tasks, and those that are there go on.
func TestDriver_notEnabled_refusesStartsAndRecoversTasks(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task, started := mustStart(t, d)
		next := New(Config{Flock: flock})
		defer shutdown(t, next)
		err := next.Configure(t.Context(), agentBlock(t, map[string]any{"enabled": false}))
		if err != nil {
			t.Fatal(err)
		}
		err = next.Recover(t.Context(), drivers.Handle{Task: drivers.TaskConfig{ID: task.ID},
			State: started.State, Version: started.Version})
		if err != nil {
			t.Fatalf("the task that was there cannot be recovered: %v", err)
		}
		if _, err := next.Inspect(t.Context(), task.ID); err != nil {
			t.Errorf("the task that was there is not known: %v", err)
		}
		other := block(t, map[string]any{"command": "web"})
		other.ID = "alloc/web/2"
		_, err = next.Start(t.Context(), other)
		want := `cannot start a task: enabled = false in the agent's plugin "doze" block`
		if err == nil || err.Error() != want || flock.launches != 1 {
			t.Errorf("a start returned %v after %d launches, not %s", err, flock.launches, want)
		}
		how := drivers.StopRequest{Signal: "SIGTERM"}
		if err := next.Stop(t.Context(), task.ID, how); err != nil {
			t.Errorf("the task that was there cannot be stopped: %v", err)
		}
		if calls := strings.Join(flock.only().calls, " "); !strings.Contains(calls, "SIGTERM") {
			t.Errorf("its shepherd was told %q", calls)
		}
	})
}
