package shepherd_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/healthgate"
	"doze/idle"
)

// withHangingProbe launches a task in a v1 freezer of its own, where what stands still does
// not die, and returns it with a probe under way that does not end by itself.
func withHangingProbe(t *testing.T) (*shepherd.Client, shepherd.Spec) {
	t.Helper()
	s := withV1(t)
	s.Probe = healthgate.ProbeConfig{
		Kind: "exec", Interval: 5 * time.Millisecond, Timeout: time.Minute,
		Command: []string{"/bin/sh", "-c", "test ! -e hang || { echo > hangs; exec sleep 1000; }"},
	}
	if err := os.Chmod(s.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	if err := os.WriteFile(filepath.Join(s.Dir, "hang"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, c, "hanging", func(shepherd.Status) bool {
		_, err := os.Stat(filepath.Join(s.Dir, "hangs"))
		return err == nil
	})
	return c, s
}

func TestClient_stopWithAProbeThatDoesNotDie_doesNotWaitForIt(t *testing.T) {
	c, s := withHangingProbe(t)
	writeTo(t, filepath.Join(s.Cgroup.Legacy["freezer"], "freezer.state"), "FROZEN")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Stop(ctx, -1, ""); err != nil {
		t.Error(err)
		writeTo(t, filepath.Join(s.Cgroup.Legacy["freezer"], "freezer.state"), "THAWED")
	}
}

func TestClient_freezeDuringAProbe_endsTheProbeFirst(t *testing.T) {
	c, s := withHangingProbe(t)
	sleep(t, c, idle.Freeze)
	if pids := processes(t, s.Cgroup); len(pids) != 1 {
		t.Errorf("%d processes are frozen", len(pids))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Stop(ctx, -1, ""); err != nil {
		t.Error(err)
	}
}
