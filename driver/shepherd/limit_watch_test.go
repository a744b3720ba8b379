package shepherd_test

import (
	"testing"

	"doze/driver/shepherd"
)

// A task at its limit of processes often says nothing, or ends of it.
func TestClient_pidsLimitReached_isTold(t *testing.T) {
	asRoot(t)
	for name, script := range map[string]string{
		"lives on":     "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; wait",
		"ends of it":   "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; exit 3",
		"one too many": "sleep 1000 & sleep 1000 & sleep 1000 & sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(t, "never")
			s.Listen, s.Command, s.Args = "", "sh", []string{"-c", script}
			s.Cgroup.Limits.Pids = 4
			c := launch(t, s)
			wantIn(t, events(t, c, shepherd.EventLimit).Message,
				"reached its limit of 4 processes and threads (pids_limit)")
		})
	}
}

// The kernel picks the child: the application goes on, and nothing else says why it is alone.
func TestClient_childOutOfMemory_isToldThoughTheTaskLives(t *testing.T) {
	asRoot(t)
	s := spec(t, "never")
	s.Listen, s.Command, s.Args = "", "sh", []string{"-c", "(tail /dev/zero); sleep 1000"}
	s.Cgroup.Limits.MemoryBytes, s.Cgroup.Limits.SwapBytes = 10<<20, -1
	c := launch(t, s)
	wantIn(t, events(t, c, shepherd.EventOOM).Message, "at its limit of 10 MiB")
	if s := status(t, c); s.Exit != nil {
		t.Errorf("%+v", s.Exit)
	}
}

func TestClient_shellOfAProcessOutOfMemory_endsAsOutOfMemory(t *testing.T) {
	asRoot(t)
	s := spec(t, "never")
	s.Listen, s.Command, s.Args = "", "sh", []string{"-c", "tail /dev/zero; exit $?"}
	s.Cgroup.Limits.MemoryBytes, s.Cgroup.Limits.SwapBytes = 10<<20, -1
	c := launch(t, s)
	if e, err := c.Wait(t.Context()); err != nil || !e.OOMKilled || e.Code != 137 {
		t.Error(e, err)
	}
}
