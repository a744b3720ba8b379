package healthgate

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
)

// A probe may have passed when a dial fails, and its result not have been taken in yet. That
// instant cannot be met from outside, so this test is inside the package.
//
// Mutation: do not compare epochs in Gate.learn, and this fails.
func TestGate_passTakenInAfterAReport_doesNotReadmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := true
		g, err := NewGate(GateConfig{Probe: ProbeConfig{
			Dial: func(context.Context, string, string) (net.Conn, error) {
				if !up {
					return nil, net.ErrClosed
				}
				here, there := net.Pipe()
				return here, there.Close()
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		g.Arm(1)
		g.Update(1, []Target{{ID: "a", Addr: "app:1"}})
		synctest.Wait()
		m, s := g.Pick(), g.round.seats[0]
		passed := Result{Verdict: Up, Ready: true, epoch: s.watch.epoch.Load()}
		up = false
		g.Report(m, ErrDial)
		g.learn(s, s.watch, passed)
		if g.Pick() != nil {
			t.Error("admitted by a probe from before the failed dial")
		}
	})
}
