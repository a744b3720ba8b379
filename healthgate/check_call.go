package healthgate

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// checkCall is one run of a check's function.
type checkCall struct {
	ctx      context.Context // ends at the deadline or with the life
	cancel   context.CancelFunc
	deadline time.Time
	late     string        // the reason of a call that is not in time
	done     chan struct{} // closed when the function has returned
	reason   string        // "" when it passed; read after done only
}

func newCheckCall(life context.Context, timeout time.Duration) *checkCall {
	k := &checkCall{
		deadline: time.Now().Add(timeout),
		late:     fmt.Sprintf("no answer within %v", timeout),
		done:     make(chan struct{}),
	}
	k.ctx, k.cancel = context.WithDeadline(life, k.deadline)
	return k
}

func (k *checkCall) run(check func(context.Context) error) {
	defer k.cancel() // after done, or an answer in time would look late
	defer close(k.done)
	k.reason = "ended its goroutine without an answer" // runtime.Goexit
	defer func() {
		if p := recover(); p != nil {
			k.reason = boundedReason(fmt.Sprint("panicked: ", p))
		}
	}()
	k.reason = k.judge(check(k.ctx))
}

func (k *checkCall) judge(err error) string {
	switch {
	case k.ctx.Err() != nil:
		return k.late
	case err != nil:
		return boundedReason(err.Error())
	}
	return ""
}

// wait returns why the check fails, "" when it passed, as soon as that is known: when the
// call's context has ended at the latest.
func (k *checkCall) wait() string {
	select {
	case <-k.done:
	case <-k.ctx.Done():
		if !k.ended() {
			return k.late
		}
	}
	return k.reason
}

func (k *checkCall) ended() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// boundedReason never returns "", which would mean that the check passed.
func boundedReason(text string) string {
	if text == "" {
		return "failed without saying why"
	}
	if len(text) <= maxCheckReason {
		return text
	}
	// A copy, so that the rest of the text is not kept alive.
	return strings.ToValidUTF8(strings.Clone(text[:maxCheckReason]), "") + "…"
}
