package idle_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"doze/healthgate"
	"doze/idle"
)

// guarded is a workload that is there at once and fails the test when it is put to sleep
// while it serves.
type guarded struct {
	t       *testing.T
	group   *idle.Group
	serving atomic.Int32
	slept   atomic.Int32
}

func (w *guarded) Wake(context.Context, healthgate.Generation) error {
	w.group.SetTargets(target())
	return nil
}

func (w *guarded) Sleep(context.Context, healthgate.Generation, idle.Depth, string) error {
	runtime.Gosched()
	if n := w.serving.Load(); n > 0 {
		w.t.Errorf("put to sleep while %d requests are served", n)
	}
	w.slept.Add(1)
	return nil
}

func (w *guarded) request(ctx context.Context) {
	open := w.group.Acquire()
	defer w.group.Release()
	for !open || w.group.Gate().Pick() == nil {
		if err := w.group.Await(ctx, "request"); err != nil {
			w.t.Error(err)
			return
		}
		open = true
	}
	w.serving.Add(1)
	runtime.Gosched()
	w.serving.Add(-1)
}
