package cgroup_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"doze/driver/shepherd/cgroup"
)

// The files of a v2 cgroup, in a directory that is none.
func TestAlarm_eventsFileChanges_endsTheWait(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"pids.events", "memory.events"} {
		err := os.WriteFile(filepath.Join(dir, file), []byte("max 0\noom_kill 0\n"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	g := cgroup.Open(cgroup.Spec{Unified: dir})
	for _, file := range []string{"pids.events", "memory.events"} {
		alarm, err := g.OpenAlarm()
		if err != nil || alarm == nil {
			t.Fatal(alarm, err)
		}
		rung := make(chan error, 1)
		go func() { rung <- alarm.Wait() }()
		select {
		case err := <-rung:
			t.Fatal("it rang by itself: ", err)
		case <-time.After(20 * time.Millisecond):
		}
		err = os.WriteFile(filepath.Join(dir, file), []byte("max 3\noom_kill 2\n"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-rung; err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := alarm.Close(); err != nil {
			t.Error(err)
		}
		if alarm.Wait() == nil {
			t.Error("it waits though it is closed")
		}
	}
	if g.ForksRefused() != 3 || g.OOMKills() != 2 {
		t.Errorf("%d forks were refused, %d processes killed", g.ForksRefused(), g.OOMKills())
	}
}

func TestAlarm_cgroupV1_isNone(t *testing.T) {
	g := cgroup.Open(cgroup.Spec{Legacy: map[string]string{"pids": t.TempDir()}})
	if alarm, err := g.OpenAlarm(); alarm != nil || err != nil {
		t.Error(alarm, err)
	}
}
