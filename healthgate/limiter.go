package healthgate

import (
	"context"
	"fmt"
)

// Limiter bounds how many probes run at once; one may serve many gates. A nil Limiter
// bounds nothing. Time spent waiting for a place does not count against a probe's timeout. A
// target that hangs holds its place for the whole timeout, so leave room for such.
type Limiter struct{ places chan struct{} }

// NewLimiter returns a Limiter for n probes at once; below 1 it counts as 1.
func NewLimiter(n int) *Limiter {
	return &Limiter{places: make(chan struct{}, max(n, 1))}
}

func (l *Limiter) enter(ctx context.Context) error {
	if l == nil {
		return nil
	}
	select {
	case l.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		cause := context.Cause(ctx)
		return &ProbeError{Unknown, fmt.Errorf("no place to probe in: %w", cause)}
	}
}

func (l *Limiter) leave() {
	if l != nil {
		<-l.places
	}
}
