package healthgate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// defaultShutdownTimeout ends before Nomad's default kill_timeout of 5s does.
const defaultShutdownTimeout = 4 * time.Second

// DrainConfig describes an ordered shutdown. The zero value is valid and stops nothing.
type DrainConfig struct {
	// Delay is for how long listeners still accept after readiness has dropped: at least
	// one period of whoever probes it. Default 0. It counts within Timeout and has to be
	// shorter; what of it falls into the cut graces (see Timeout) is cut.
	Delay time.Duration
	// Timeout bounds the whole shutdown; default 4s. Keep it below the platform's own
	// limit (Nomad's kill_timeout, 5s unless set). Contexts end three cut graces (each a
	// twentieth of Timeout, 250ms at most) before it is up: what has to be cut may say so,
	// and the last three steps have one grace each.
	Timeout time.Duration
	// Health, if not nil, is unavailable from the first step on; its liveness stays ok.
	// The delay applies without one too.
	Health *Health
	// Servers are shut down at once; one that isn't done in time is closed.
	Servers []DrainServer
	// Upgraded, if not nil, are connections that left HTTP; see its type.
	Upgraded *Upgraded
	// BeforeCut, if not nil, is called once before requests are cut, when the time is up or
	// the shutdown is hurried: refuse what is held now. Answers written within the cut
	// grace are still sent. It must not block.
	BeforeCut func()
	// Background is waited for all at once, after the last request.
	Background []DrainPart
	// Components stop one after another, the last first.
	Components []DrainPart
	// OnStep, if not nil, is called after each step. It must not block.
	OnStep func(DrainEvent)
	// Log gets a line a step; nil discards.
	Log *slog.Logger
}

// DrainServer is what *http.Server is: Shutdown closes the listeners at once and returns
// nil when nothing is in flight any more; Close cuts what is.
type DrainServer interface {
	Shutdown(ctx context.Context) error
	Close() error
}

// DrainPart is something to wait for or to stop.
type DrainPart struct {
	// Name is how logs and errors call it. Required.
	Name string
	// Stop returns when the part is at its end. Required. When ctx ends it should cut
	// itself off; one that doesn't is abandoned after the cut grace. A panic is an error.
	Stop func(ctx context.Context) error
}

// Validate reports everything that is wrong, joined; each error names the key.
func (c DrainConfig) Validate() error {
	errs := c.timeProblems()
	for i, s := range c.Servers {
		if s == nil {
			errs = append(errs, fmt.Errorf("servers[%d]: is nil", i))
		}
	}
	errs = append(errs, drainPartProblems("background", c.Background)...)
	errs = append(errs, drainPartProblems("components", c.Components)...)
	return errors.Join(errs...)
}

func (c DrainConfig) timeProblems() []error {
	var errs []error
	if c.Delay < 0 {
		errs = append(errs, fmt.Errorf("drain_delay %v: is negative", c.Delay))
	}
	if c.Timeout < 0 {
		return append(errs, fmt.Errorf("shutdown_timeout %v: is negative", c.Timeout))
	}
	if limit := c.withDefaults().Timeout; c.Delay >= limit {
		errs = append(errs, fmt.Errorf("drain_delay %v: must be shorter than "+
			"shutdown_timeout (%v), which it counts within", c.Delay, limit))
	}
	return errs
}

func drainPartProblems(key string, parts []DrainPart) []error {
	var errs []error
	for i, part := range parts {
		if part.Name == "" {
			errs = append(errs, fmt.Errorf("%s[%d]: a name is required", key, i))
		}
		if part.Stop == nil {
			errs = append(errs, fmt.Errorf("%s[%d] %q: a function is required", key, i, part.Name))
		}
	}
	return errs
}

func (c DrainConfig) withDefaults() DrainConfig {
	if c.Timeout == 0 {
		c.Timeout = defaultShutdownTimeout
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
