package healthgate

import (
	"context"
	"fmt"
	"time"
)

const maxCutGrace = 250 * time.Millisecond

// cutGrace is how long each of the last three steps may go on once the time is up: what is
// cut gets a moment to say so, and no step takes that moment from a later one.
func cutGrace(timeout time.Duration) time.Duration {
	return min(timeout/20, maxCutGrace)
}

// newSoftLimit returns the context that all parts work under. Its cause is ErrHurried once
// hurry has ended and ErrDrainTimeout when the time but for the three graces is up.
func newSoftLimit(hurry context.Context, timeout time.Duration) (context.Context, func()) {
	timed, cancel := context.WithTimeoutCause(context.WithoutCancel(hurry),
		timeout-3*cutGrace(timeout), ErrDrainTimeout)
	soft, cut := context.WithCancelCause(timed)
	stop := context.AfterFunc(hurry, func() { cut(ErrHurried) })
	return soft, func() {
		stop()
		cut(nil)
		cancel()
	}
}

// drainLimit is the time one step has: parts work under soft and are waited for until hard
// ends, one grace after soft or, if soft had ended before, after the step began.
type drainLimit struct {
	soft, hard context.Context
}

func newDrainLimit(soft context.Context, grace time.Duration) (drainLimit, func()) {
	hard, cut := context.WithCancel(context.WithoutCancel(soft))
	stop := context.AfterFunc(soft, func() { time.AfterFunc(grace, cut) })
	return drainLimit{soft: soft, hard: hard}, func() {
		stop()
		cut()
	}
}

// beginDrainPart's goroutine ends when stop returns; one that is abandoned goes with the
// process.
func beginDrainPart(ctx context.Context, stop func(context.Context) error) <-chan error {
	end := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				end <- fmt.Errorf("panicked: %v", p)
			}
		}()
		end <- stop(ctx)
	}()
	return end
}

// await returns what the part returned, or that it was abandoned and why.
func (l drainLimit) await(end <-chan error) error {
	select {
	case err := <-end:
		return err
	case <-l.hard.Done():
	}
	select {
	case err := <-end:
		return err
	default:
		return fmt.Errorf("abandoned: %w", context.Cause(l.soft))
	}
}
