package idle_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// crowd is the workload of many groups at once. Nothing ever listens.
type crowd struct {
	took             time.Duration
	counters         healthgate.Counters
	now, most, begun atomic.Int32
}

func (c *crowd) add(t testing.TB, loop *idle.Loop, i int) *idle.Group {
	t.Helper()
	g, err := loop.Add(idle.GroupConfig{
		ID:       idle.GroupID{Namespace: "default", Job: "job-" + strconv.Itoa(i), Group: "web"},
		Policy:   policy(),
		Gate:     healthgate.GateConfig{Counters: &c.counters},
		Workload: c,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (c *crowd) Wake(ctx context.Context, _ healthgate.Generation) error {
	c.begun.Add(1)
	c.most.Store(max(c.most.Load(), c.now.Add(1)))
	defer c.now.Add(-1)
	return sleepCtx(ctx, c.took)
}

func (c *crowd) Sleep(ctx context.Context, _ healthgate.Generation, _ idle.Depth, _ string) error {
	return sleepCtx(ctx, c.took)
}
