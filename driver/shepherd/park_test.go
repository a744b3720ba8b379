package shepherd_test

import (
	"testing"
	"time"

	"doze/idle"
)

func TestClient_parkSignal_letsTheAppSaveItsData(t *testing.T) {
	app := `trap 'echo saved; exit 0' INT; trap 'echo told to end; exit 0' TERM; echo runs
		while :; do sleep 0.01; done`
	for signal, want := range map[string]string{
		"SIGINT": "runs\nsaved\nruns\ntold to end\n", "": "runs\ntold to end\nruns\ntold to end\n",
	} {
		s := script(t, app)
		s.ParkSignal = signal
		c := launch(t, s)
		awaitLog(t, s, "web.stdout.0", "runs\n")
		sleep(t, c, idle.Park)
		if err := c.Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitLog(t, s, "web.stdout.0", "\nruns\n")
		if err := c.Stop(t.Context(), 0, ""); err != nil {
			t.Fatal(err)
		}
		if log := readLog(t, s, "web.stdout.0"); log != want {
			t.Errorf("parked by %q the app says %q, not %q", signal, log, want)
		}
	}
}

func TestClient_parkTimeout_isHowLongTheAppMayTake(t *testing.T) {
	s := script(t, "trap '' INT; echo runs; while :; do sleep 0.01; done")
	s.ParkSignal, s.ParkTimeout = "SIGINT", 300*time.Millisecond
	c := launch(t, s)
	awaitLog(t, s, "web.stdout.0", "runs\n")
	began := time.Now()
	sleep(t, c, idle.Park)
	if took := time.Since(began); took < s.ParkTimeout {
		t.Errorf("parked after %s", took)
	}
	if s := status(t, c); s.Pid != 0 || s.Exit != nil {
		t.Errorf("%+v", s)
	}
}
