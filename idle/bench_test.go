package idle_test

import (
	"context"
	"net"
	"testing"
	"time"

	"doze/healthgate"
	"doze/idle"
)

func BenchmarkGroup_acquireRelease(b *testing.B) {
	g := new(crowd).add(b, idle.NewLoop(idle.Config{}), 1)
	b.ReportAllocs()
	for b.Loop() {
		g.Acquire()
		g.Release()
	}
}

func BenchmarkGroup_acquireReleaseParallel(b *testing.B) {
	g := new(crowd).add(b, idle.NewLoop(idle.Config{}), 1)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			g.Acquire()
			g.Release()
		}
	})
}

func BenchmarkMachine_wakeAndSleep(b *testing.B) {
	p := policy()
	now := time.Now()
	m := idle.NewMachine(now, &p, idle.Zero)
	quiet := idle.Activity{Known: true}
	steps := 0
	step := func(ev idle.Event) {
		steps++
		ev.Activity = quiet
		m.Step(now, ev)
	}
	b.ReportAllocs()
	for b.Loop() {
		step(idle.Event{Kind: idle.RequestHeld, Cause: "request"})
		step(idle.Event{Kind: idle.TargetsDeclared, Targets: target()})
		step(idle.Event{Kind: idle.WakeReturned, Generation: m.Generation()})
		step(idle.Event{Kind: idle.TargetReady, Generation: m.Generation()})
		now = m.Due()
		step(idle.Event{Kind: idle.DeadlinePassed})
		step(idle.Event{Kind: idle.GateShut})
		step(idle.Event{Kind: idle.GateClosed})
		step(idle.Event{Kind: idle.SleepReturned, Generation: m.Generation()})
	}
	b.ReportMetric(float64(b.Elapsed())/float64(steps), "ns/step")
}

func BenchmarkGroup_status(b *testing.B) {
	g := new(crowd).add(b, idle.NewLoop(idle.Config{}), 1)
	b.ReportAllocs()
	for b.Loop() {
		g.Status()
	}
}

// BenchmarkLoop_sleepingGroups adds 100,000 groups that sleep.
func BenchmarkLoop_sleepingGroups(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(addMany(b, 100_000)), "B/group")
	}
}

// BenchmarkLoop_wakeOverhead is a whole wake, from request to permission, of a workload that
// is there at once: what the loop and the gate add.
func BenchmarkLoop_wakeOverhead(b *testing.B) {
	loop := idle.NewLoop(idle.Config{})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	w := new(instant)
	g, err := loop.Add(idle.GroupConfig{
		ID: idle.GroupID{Job: "a"}, Policy: policy(), Workload: w,
		Gate: healthgate.GateConfig{Probe: healthgate.ProbeConfig{Dial: w.dial}},
	})
	if err != nil {
		b.Fatal(err)
	}
	w.group = g
	for b.Loop() {
		g.Acquire()
		if err := g.Await(ctx, "request"); err != nil {
			b.Fatal(err)
		}
		g.Release()
		b.StopTimer()
		awaitAsleep(b, ctx, []*idle.Group{g})
		b.StartTimer()
	}
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
}

// instant is a workload that is there at once.
type instant struct{ group *idle.Group }

func (w *instant) Wake(context.Context, healthgate.Generation) error {
	w.group.SetTargets(target())
	return nil
}

func (w *instant) Sleep(context.Context, healthgate.Generation, idle.Depth, string) error { return nil }

func (w *instant) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	return ours, theirs.Close()
}
