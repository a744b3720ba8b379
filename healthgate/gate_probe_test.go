package healthgate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

// A new probe for a running gate: what was admitted stays until the new probe has judged.
func TestGate_SetProbe_newProbeDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.answer("app:1")
		g, err := healthgate.NewGate(healthgate.GateConfig{Probe: healthgate.ProbeConfig{Dial: n.dial}})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		g.Arm(1)
		g.Update(1, []healthgate.Target{{ID: "a", Addr: "app:1"}})
		if err := g.WaitGeneration(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		refuse := healthgate.ProbeConfig{Kind: "http", Statuses: "599", Dial: n.dial}
		if err := g.SetProbe(refuse); err != nil {
			t.Fatal(err)
		}
		if g.Pick() == nil {
			t.Error("the admitted target was taken out before the new probe had said anything")
		}
		time.Sleep(time.Second)
		if g.Pick() != nil {
			t.Error("the target is admitted although the new probe refuses it")
		}
		if err := g.SetProbe(healthgate.ProbeConfig{Kind: "smtp"}); err == nil {
			t.Error("a probe of an unknown kind was taken")
		}
		if err := g.SetProbe(healthgate.ProbeConfig{Dial: n.dial}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if g.Pick() == nil {
			t.Error("the target is not admitted although the new probe accepts it")
		}
	})
}
