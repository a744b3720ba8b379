package healthgate_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"doze/healthgate"
)

// Cost of one probe over loopback, connection included.
func BenchmarkProbe(b *testing.B) {
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer web.Close()
	rpc := httptest.NewUnstartedServer(grpcAnswer(frame("\x08\x01"), "0", ""))
	rpc.Config.Protocols = new(http.Protocols)
	rpc.Config.Protocols.SetUnencryptedHTTP2(true)
	rpc.Start()
	defer rpc.Close()
	for kind, l := range map[string]net.Listener{"tcp": web.Listener, "http": web.Listener, "grpc": rpc.Listener} {
		b.Run(kind, func(b *testing.B) {
			p, err := healthgate.ProbeConfig{Kind: kind}.New()
			if err != nil {
				b.Fatal(err)
			}
			addr := l.Addr().String()
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Probe(b.Context(), addr); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Cost of a run of doze probe over many targets, without its process.
func BenchmarkJudge(b *testing.B) {
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer web.Close()
	for _, n := range []int{1, 24} {
		b.Run(fmt.Sprintf("targets=%d", n), func(b *testing.B) {
			var subjects []healthgate.Subject
			for i := range n {
				subjects = append(subjects, healthgate.Subject{
					Addr:  web.Listener.Addr().String(),
					Probe: healthgate.ProbeConfig{Kind: "http", Path: fmt.Sprintf("/%d", i)},
				})
			}
			judge := healthgate.NewJudge(healthgate.JudgeConfig{})
			for b.Loop() {
				if w := healthgate.Worst(judge.Run(b.Context(), subjects)); w != healthgate.Up {
					b.Fatal(w)
				}
			}
		})
	}
}

// Cost of a whole wake at the gate: arm, declare, probe, release, shut.
func BenchmarkGate_wake(b *testing.B) {
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer web.Close()
	g, err := healthgate.NewGate(healthgate.GateConfig{Probe: healthgate.ProbeConfig{Kind: "http"}})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	all := targets(web.Listener.Addr().String())
	b.ReportAllocs()
	for gen := healthgate.Generation(1); b.Loop(); gen++ {
		w := g.Waiter()
		g.Arm(gen)
		g.Update(gen, all)
		if err := w.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
		g.Shut()
	}
}
