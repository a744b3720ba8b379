package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// demoIdleAfter is the demo's idle time: short enough to watch.
const demoIdleAfter = 10 * time.Second

func demoVerb() verb {
	return verb{
		synopsis: "Show it all on this machine, with small apps",
		usage: "[options]\n\n" +
			"  Starts a one-node cluster of its own (or, with -nomad, uses the real one at\n" +
			"  NOMAD_ADDR), registers small apps that sleep until they are asked for, and\n" +
			"  serves the gate and the API. With -tour it tries everything itself, says\n" +
			"  what this machine made it leave out, and exits.",
		prepare: prepareDemo,
	}
}

// demoConfig is the demo's settings: those of serve, and a few of its own.
type demoConfig struct {
	serve serveConfig
	real  bool
	tour  bool
	idle  time.Duration
}

func prepareDemo(s *settings) action {
	var cfg demoConfig
	cfg.serve.declare(s)
	s.flags.BoolVar(&cfg.real, "nomad", false,
		"use the Nomad at NOMAD_ADDR, whose client must allow raw_exec")
	s.flags.BoolVar(&cfg.tour, "tour", false, "try everything, print what took how long, exit")
	s.flags.DurationVar(&cfg.idle, "idle-after", demoIdleAfter, "`time` after which an app sleeps")
	quiet := s.flags.Lookup("log-level")
	quiet.DefValue = "warn"
	cfg.serve.LogLevel = "warn"
	return func(ctx context.Context, term terminal, args []string) error {
		if err := noArgs(args); err != nil {
			return err
		}
		if err := errors.Join(cfg.serve.validate(), cfg.validate()); err != nil {
			return &usageError{err}
		}
		return runDemo(ctx, cfg, term, newLogger(term, cfg.serve))
	}
}

func (c *demoConfig) validate() error {
	if c.idle < 2*time.Second {
		return fmt.Errorf("idle-after = %s: must be 2s or more", c.idle)
	}
	return nil
}

func runDemo(ctx context.Context, cfg demoConfig, term terminal, log *slog.Logger) (err error) {
	cluster, err := startDemoCluster(ctx, cfg, term, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.close()) }()
	stack, err := newStack(cfg.serve, cluster.client, log)
	if err != nil {
		return err
	}
	if err := cluster.register(cfg.idle); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hurry, release := secondSignal(ctx)
	defer release()
	if !cfg.tour {
		cluster.welcome(cfg, stack)
		return stack.run(ctx, hurry)
	}
	toured := make(chan error, 1)
	go func() { // ends with the tour, which ends with ctx
		defer stop()
		toured <- newTour(cfg, cluster, stack).run(ctx)
	}()
	runErr := stack.run(ctx, hurry)
	stop()
	return errors.Join(runErr, <-toured)
}
