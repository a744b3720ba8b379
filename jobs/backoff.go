package jobs

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 250 * time.Millisecond
	lastPause  = 15 * time.Second
)

// backoff is a growing pause between attempts, with jitter. The zero value is ready.
type backoff struct{ last time.Duration }

// wait pauses, longer than the last time, and reports whether ctx still lives. At once
// pauses as for the first time and does not grow.
func (b *backoff) wait(ctx context.Context, atOnce bool) bool {
	pause := firstPause
	if !atOnce {
		pause = min(max(2*b.last, firstPause), lastPause)
		b.last = pause
	}
	return sleep(ctx, pause/2+rand.N(pause/2+1))
}

// sleep pauses for d and reports whether ctx still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
