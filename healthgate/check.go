package healthgate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	defaultCheckTimeout = time.Second
	maxCheckName        = 64
	maxCheckReason      = 512 // bytes of a check's error that are kept
)

// Check is one thing that has to work for this process to be ready.
type Check struct {
	// Name is how logs, and with ReportChecks the body, call the check. Required, unique,
	// at most 64 of letters, digits, -, . and _.
	Name string
	// Check returns nil when what it looks at is usable. Required; (*sql.DB).PingContext
	// is one. It should return when ctx ends; one that doesn't is not started again until
	// it has. A panic is a failure, and so is any answer after Timeout.
	Check func(ctx context.Context) error
	// Timeout bounds one run; default 1s. Keep it below the prober's own timeout.
	Timeout time.Duration
}

// problems returns one error for each thing that is wrong.
func (c Check) problems() []error {
	var errs []error
	switch {
	case c.Name == "":
		errs = append(errs, errors.New("a name is required"))
	case len(c.Name) > maxCheckName:
		errs = append(errs, fmt.Errorf("the name is longer than %d characters", maxCheckName))
	case strings.ContainsFunc(c.Name, isNotCheckNameRune):
		errs = append(errs, errors.New("the name may hold letters, digits, -, . and _ only"))
	}
	if c.Check == nil {
		errs = append(errs, errors.New("a check function is required"))
	}
	if c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("the timeout %v is negative", c.Timeout))
	}
	return errs
}

func isNotCheckNameRune(r rune) bool {
	return !isASCIIAlphanumeric(r) && !strings.ContainsRune("-._", r)
}

// checker is a Check over all lives of a Health. It has at most one goroutine.
type checker struct {
	Check
	log *slog.Logger

	mu      sync.Mutex
	call    *checkCall // the last one begun
	failing bool       // as last logged
}

// settle waits for a call that an earlier life began, until that is overdue: a check that
// is merely on its way out when the process starts again does not hang.
func (c *checker) settle(life context.Context) {
	call := c.last()
	if call == nil || time.Until(call.deadline) <= 0 {
		return
	}
	overdue := time.NewTimer(time.Until(call.deadline))
	defer overdue.Stop()
	select {
	case <-call.done:
	case <-overdue.C:
	case <-life.Done():
	}
}

func (c *checker) last() *checkCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.call
}

// begin starts the check, or returns the call that still hangs, whose context has ended.
func (c *checker) begin(life context.Context) *checkCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.call != nil && !c.call.ended() {
		return c.call
	}
	c.call = newCheckCall(life, c.timeout())
	go c.call.run(c.Check.Check) // ends when the check returns; begin waits for that
	return c.call
}

func (c *checker) timeout() time.Duration {
	if c.Timeout == 0 {
		return defaultCheckTimeout
	}
	return c.Timeout
}

// note logs a change of state; reason is "" when the check passed.
func (c *checker) note(reason string) {
	c.mu.Lock()
	changed := c.failing != (reason != "")
	c.failing = reason != ""
	c.mu.Unlock()

	switch {
	case changed && reason != "":
		c.log.Warn("readiness check fails; readiness is unavailable",
			"check", c.Name, "error", reason)
	case changed:
		c.log.Info("readiness check passes again", "check", c.Name)
	case reason != "":
		c.log.Debug("readiness check still fails", "check", c.Name, "error", reason)
	default:
		c.log.Debug("readiness check passes", "check", c.Name)
	}
}
