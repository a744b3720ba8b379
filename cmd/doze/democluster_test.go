package main

import (
	"net"
	"strings"
	"testing"
	"time"
)

// What the welcome says of the app that freezes is true of it alone, and names the command
// that shows it asleep; where there is none, nothing is said of it.
func TestDemo_welcome_tellsTheFrozenAppFromTheOthers(t *testing.T) {
	gate, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	for _, c := range []struct {
		cluster  demoCluster
		says     []string
		saysNone string
	}{
		{demoCluster{apps: append(demoApps(), frozenApp()), stateDir: "/tmp/doze-demo-7"}, []string{
			"4 apps are asleep", "after 10s without a request, but for frozen.",
			"its group stays ready for 10m0s", "bin/doze tasks -state-dir /tmp/doze-demo-7\n"}, "no app that"},
		{demoCluster{apps: demoApps(), note: "no app that freezes: not root"}, []string{
			"3 apps are asleep", "after 10s without a request. ", "(no app that freezes: not root)"}, "doze tasks"},
	} {
		var out strings.Builder
		c.cluster.term.stdout = &out
		c.cluster.welcome(demoConfig{idle: 10 * time.Second}, &stack{gateListener: gate, apiListener: gate})
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, &out)
			}
		}
		if strings.Contains(out.String(), c.saysNone) {
			t.Errorf("%q is in\n%s", c.saysNone, &out)
		}
	}
}
