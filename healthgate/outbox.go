package healthgate

import (
	"context"
	"log/slog"
)

// outbox holds the callbacks and log lines that are due. One goroutine at a time delivers
// them, so that they arrive in order, with no lock held, and never on the goroutine of a
// Gate's caller. It lives only while there is something to deliver.
type outbox struct {
	due        []func()
	delivering bool
}

// post queues a callback. The caller holds g.mu.
func (g *Gate) post(call func()) {
	g.outbox.due = append(g.outbox.due, call)
	if !g.outbox.delivering {
		g.outbox.delivering = true
		g.running.Go(g.deliver)
	}
}

func (g *Gate) postGeneration(call func(Generation), gen Generation) {
	if call != nil {
		g.post(func() { call(gen) })
	}
}

func (g *Gate) log(level slog.Level, text string, args ...any) {
	args = append(args, "generation", g.gen)
	to := g.cfg.log
	g.post(func() { to.Log(context.Background(), level, text, args...) })
}

// logTarget is log about one target.
func (g *Gate) logTarget(level slog.Level, m *Member, text string, args ...any) {
	g.log(level, text, append(args, "target", m.ID, "addr", m.Addr)...)
}

func (g *Gate) deliver() {
	for due := g.take(); due != nil; due = g.take() {
		for _, call := range due {
			call()
		}
	}
}

func (g *Gate) take() []func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	due := g.outbox.due
	g.outbox.due = nil
	g.outbox.delivering = due != nil
	return due
}
