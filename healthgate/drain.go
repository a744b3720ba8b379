package healthgate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

var (
	// ErrHurried is the cause of a part's context when Run's own context ended: a second
	// signal.
	ErrHurried = errors.New("the shutdown was hurried")
	// ErrDrainTimeout is the cause of a part's context when the time is up.
	ErrDrainTimeout = errors.New("the shutdown's time is up")
)

// DrainStep is one step of an ordered shutdown.
type DrainStep string

// The steps, in the order in which they happen.
const (
	StepReadiness  DrainStep = "readiness"  // readiness says unavailable, nothing else changes
	StepDelay      DrainStep = "delay"      // listeners still accept, so that balancers notice
	StepRequests   DrainStep = "requests"   // listeners close, what is in flight finishes
	StepBackground DrainStep = "background" // work that requests began is waited for
	StepComponents DrainStep = "components" // what served the requests stops
)

// DrainEvent says that a step is over.
type DrainEvent struct {
	Step DrainStep
	Took time.Duration
	Err  error // what failed or was cut, joined; nil: the step came to its own end
}

// Drain shuts a process down in the one order that loses no request. It keeps no state
// between runs, so a process that starts again may run it again.
type Drain struct {
	cfg DrainConfig
}

// NewDrain returns a Drain; its error joins every problem of cfg.
func NewDrain(cfg DrainConfig) (*Drain, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Drain{cfg: cfg.withDefaults()}, nil
}

// Run takes the steps one after another and returns when the last is over, after
// DrainConfig.Timeout at the latest. The end of ctx (a second signal) cuts it short: the
// rest of the delay is skipped and what is in flight gets the cut grace only. Every step
// is taken all the same. Runs must not overlap.
//
// Its error joins what failed or was cut; nil means that every step came to its own end.
func (d *Drain) Run(ctx context.Context) error {
	soft, release := newSoftLimit(ctx, d.cfg.Timeout)
	defer release()
	began := time.Now()
	var errs []error
	for _, step := range []struct {
		name DrainStep
		take func(drainLimit) error
	}{
		{StepReadiness, d.dropReadiness},
		{StepDelay, d.delay},
		{StepRequests, d.finishRequests},
		{StepBackground, d.waitForBackground},
		{StepComponents, d.stopComponents},
	} {
		errs = append(errs, d.take(soft, step.name, step.take))
	}
	err := errors.Join(errs...)
	d.cfg.Log.Info("shutdown is over", "took", time.Since(began), "complete", err == nil)
	return err
}

func (d *Drain) take(soft context.Context, name DrainStep, do func(drainLimit) error) error {
	limit, release := newDrainLimit(soft, cutGrace(d.cfg.Timeout))
	defer release()
	began := time.Now()
	err := do(limit)
	event := DrainEvent{Step: name, Took: time.Since(began), Err: err}
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelWarn
	}
	// The error itself is Run's to return, not to log.
	d.cfg.Log.Log(context.Background(), level, "shutdown step is over",
		"step", string(name), "took", event.Took, "complete", err == nil)
	if d.cfg.OnStep != nil {
		d.cfg.OnStep(event)
	}
	return err
}

func (d *Drain) dropReadiness(drainLimit) error {
	if d.cfg.Health != nil {
		d.cfg.Health.Drain()
	}
	return nil
}

func (d *Drain) delay(limit drainLimit) error {
	if d.cfg.Delay == 0 {
		return nil
	}
	d.cfg.Log.Info("readiness is unavailable; listeners still accept", "drain_delay", d.cfg.Delay)
	timer := time.NewTimer(d.cfg.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-limit.soft.Done():
		return fmt.Errorf("cannot keep accepting for %v: %w", d.cfg.Delay,
			context.Cause(limit.soft))
	}
}

// waitForBackground waits for all works at once.
func (d *Drain) waitForBackground(limit drainLimit) error {
	errs := make([]error, len(d.cfg.Background))
	ends := make([]<-chan error, len(d.cfg.Background))
	for i, part := range d.cfg.Background {
		ends[i] = beginDrainPart(limit.soft, part.Stop)
	}
	for i, part := range d.cfg.Background {
		if err := limit.await(ends[i]); err != nil {
			errs[i] = fmt.Errorf("cannot finish background work %q: %w", part.Name, err)
		}
	}
	return errors.Join(errs...)
}

// stopComponents stops one after another, the last first: they were started in order.
func (d *Drain) stopComponents(limit drainLimit) error {
	var errs []error
	for i := len(d.cfg.Components) - 1; i >= 0; i-- {
		part := d.cfg.Components[i]
		if err := limit.await(beginDrainPart(limit.soft, part.Stop)); err != nil {
			errs = append(errs, fmt.Errorf("cannot stop component %q: %w", part.Name, err))
		}
	}
	return errors.Join(errs...)
}
