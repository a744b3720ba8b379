package drivers

import (
	"context"
	"fmt"
	"time"
)

// Wait implements Driver.
func (ts *Tasks[R]) Wait(ctx context.Context, id string) (ExitResult, error) {
	h, err := ts.known(id)
	if err != nil {
		return ExitResult{}, err
	}
	select {
	case <-h.ended:
		return h.exit, nil
	case <-ctx.Done():
		return ExitResult{}, context.Cause(ctx)
	}
}

// Stop implements Driver. A task that cannot be asked to end is killed at once, and an event
// tells why: it has to end, whatever its job's kill_signal says.
func (ts *Tasks[R]) Stop(ctx context.Context, id string, how StopRequest) error {
	h, err := ts.known(id)
	if err != nil {
		return err
	}
	if h.hasEnded() {
		return ErrTaskExited
	}
	if how.Timeout > 0 {
		if err := h.running.Stop(how.Signal); err != nil {
			ts.Emit(Event{TaskID: id, AllocID: h.task.AllocID, TaskName: h.task.Name,
				Message: fmt.Sprintf("Killed, since it could not be asked to end: %v", err)})
		} else if ended, err := h.wait(ctx, how.Timeout); ended || err != nil {
			return err
		}
	}
	return h.kill(ctx)
}

// Destroy implements Driver.
func (ts *Tasks[R]) Destroy(ctx context.Context, id string, force bool) error {
	h, err := ts.known(id)
	if err != nil {
		return err
	}
	if !h.hasEnded() {
		if !force {
			return fmt.Errorf("cannot destroy task %q: it still runs", id)
		}
		if err := h.kill(ctx); err != nil {
			return err
		}
	}
	ts.drop(h)
	return nil
}

// Inspect implements Inspector. A task that was adopted counts as started then.
func (ts *Tasks[R]) Inspect(_ context.Context, id string) (Status, error) {
	h, err := ts.known(id)
	if err != nil {
		return Status{}, err
	}
	s := Status{ID: id, Name: h.task.Name, State: TaskRunning, StartedAt: h.startedAt}
	if h.hasEnded() {
		s.State, s.CompletedAt, s.Exit = TaskExited, h.endedAt, h.exit
	}
	return s, nil
}

// wait waits for the end, but not longer than the limit.
func (h *held[R]) wait(ctx context.Context, limit time.Duration) (ended bool, err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-h.ended:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (h *held[R]) kill(ctx context.Context) error {
	if err := h.running.Kill(); err != nil && !h.hasEnded() {
		return fmt.Errorf("cannot kill task %q: %w", h.task.ID, err)
	}
	select {
	case <-h.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
