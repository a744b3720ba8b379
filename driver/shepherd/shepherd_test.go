package shepherd_test

import (
	"testing"

	"doze/idle"
)

func TestClient_startWaitStop(t *testing.T) {
	c := launch(t, spec(t, "http"))
	wantIn(t, mustGet(t, c, "/"), "pid ")
	t.Logf("%+v", status(t, c))
	if err := c.Stop(t.Context(), 0, ""); err != nil {
		t.Fatal(err)
	}
	e, err := c.Wait(t.Context())
	if err != nil || e.Signal != 15 {
		t.Fatal(e, err)
	}
}

func TestClient_frozen_wakesOnFirstConnection(t *testing.T) {
	withFreezer(t)
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	before := mustGet(t, c, "/")
	sleep(t, c, idle.Freeze)
	t.Logf("%+v", status(t, c))
	if after := mustGet(t, c, "/"); after != before {
		t.Fatal(before, after)
	}
}

func TestClient_parked_wakesOnFirstConnection(t *testing.T) {
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Park)
	t.Logf("%+v", status(t, c))
	wantIn(t, mustGet(t, c, "/"), "pid ")
}
