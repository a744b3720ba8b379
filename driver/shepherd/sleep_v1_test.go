package shepherd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/idle"
)

// withV1 describes a task whose only cgroup is in a v1 freezer.
func withV1(t *testing.T) shepherd.Spec {
	t.Helper()
	asRoot(t)
	h, err := cgroup.Detect()
	if err != nil || h.Legacy["freezer"] == "" {
		t.Skip("NEEDS A V1 FREEZER: ", err)
	}
	s := spec(t, "http")
	name := fmt.Sprintf("doze-test-%d-%d", os.Getpid(), tasks.Add(1))
	dir := filepath.Join(h.Legacy["freezer"], name)
	s.Cgroup = cgroup.Spec{Legacy: map[string]string{"freezer": dir}}
	t.Cleanup(func() {
		if err := shepherd.Sweep("/nonexistent", s.Cgroup); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestClient_frozenByV1_wakesAndStops(t *testing.T) {
	c := launch(t, withV1(t))
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Freeze)
	wantIn(t, mustGet(t, c, "/"), "pid ")
	sleep(t, c, idle.Freeze)
	if err := c.Stop(t.Context(), 0, ""); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Wait(t.Context()); err != nil || e.Signal != int(syscall.SIGTERM) {
		t.Fatal(e, err)
	}
}

// A frozen thread does not die. None of the shepherd's own may be with the task, or it goes
// on to hold its socket when it is killed, and nobody learns of it.
func TestClient_shepherdKilledWhileFrozenByV1_isGone(t *testing.T) {
	s := withV1(t)
	c, err := shepherd.Launch(t.Context(), socketDir(t), s)
	if err != nil {
		t.Fatal(err)
	}
	st := awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Freeze)
	if err := syscall.Kill(st.Shepherd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.Wait(ctx); !errors.Is(err, shepherd.ErrGone) {
		t.Fatal(err)
	}
	if err := cgroup.Kill(s.Cgroup); err != nil {
		t.Fatal(err)
	}
	awaitEmpty(t, s.Cgroup.Legacy["freezer"])
}

// In v1 a frozen process that is killed waits for the thaw to die.
func TestClient_killedWhileFrozenByV1_endsWhenWoken(t *testing.T) {
	s := withV1(t)
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Freeze)
	killAll(t, s.Cgroup.Legacy["freezer"])
	if _, err := get(t, c, "/"); err == nil {
		t.Error("who was killed has answered")
	}
	e, err := c.Wait(t.Context())
	if err != nil || e.Signal != int(syscall.SIGKILL) {
		t.Fatal(e, err)
	}
}
