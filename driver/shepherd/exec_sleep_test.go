package shepherd_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"doze/driver/shepherd"
	"doze/idle"
)

// A command that stood still, or ended, with the application would leave whoever has started
// it waiting.
func TestClient_sleepWhileACommandRuns_isInUse(t *testing.T) {
	withFreezer(t)
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	in, feed := io.Pipe()
	runs, ended := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		e, err := c.Exec(ctx, shepherd.ExecSpec{Argv: []string{"sh", "-c", "echo here; cat; exit 6"}}, in,
			writerFunc(func(p []byte) (int, error) {
				close(runs)
				return len(p), nil
			}), nil)
		if err == nil && e.Code != 6 {
			err = errors.New(e.String())
		}
		ended <- err
	}()
	<-runs
	for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
		if err := c.Sleep(ctx, depth); !errors.Is(err, shepherd.ErrInUse) {
			t.Error(depth, err)
		}
	}
	if err := feed.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	sleepUnused(t, c, idle.Freeze)
}
