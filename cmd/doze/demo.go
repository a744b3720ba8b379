package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/devnomad"
)

// demoIdleAfter is the demo's idle time: short enough to watch.
const demoIdleAfter = 10 * time.Second

func demoVerb() verb {
	return verb{
		synopsis: "Show it all on this machine, with three small apps",
		usage: "[options]\n\n" +
			"  Starts a one-node cluster of its own (or, with -nomad, uses the real one at\n" +
			"  NOMAD_ADDR), registers three apps that sleep until they are asked for, and\n" +
			"  serves the gate and the API. With -tour it tries everything itself and exits.",
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
		log, err := newLogger(term, cfg.serve.LogLevel, cfg.serve.LogFormat)
		if err != nil {
			return &usageError{err}
		}
		return runDemo(ctx, cfg, term, log)
	}
}

func (c *demoConfig) validate() error {
	if c.idle < 2*time.Second {
		return fmt.Errorf("idle-after = %s: must be 2s or more", c.idle)
	}
	return nil
}

func runDemo(ctx context.Context, cfg demoConfig, term terminal, log *slog.Logger) (err error) {
	client, closeCluster, err := demoCluster(cfg, term, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeCluster()) }()
	stack, err := newStack(cfg.serve, client, log)
	if err != nil {
		return err
	}
	if err := registerApps(client, cfg.idle); err != nil {
		return err
	}
	if cfg.real {
		defer func() { err = errors.Join(err, removeApps(client)) }()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hurry, release := secondSignal(ctx)
	defer release()
	if !cfg.tour {
		welcome(term, cfg, stack)
		return stack.run(ctx, hurry)
	}
	toured := make(chan error, 1)
	go func() { // ends with the tour, which ends with ctx
		defer stop()
		toured <- newTour(cfg, term, stack).run(ctx)
	}()
	runErr := stack.run(ctx, hurry)
	stop()
	return errors.Join(runErr, <-toured)
}

// demoCluster returns a client for the cluster that the demo runs on, and what ends it.
func demoCluster(cfg demoConfig, term terminal,
	log *slog.Logger) (*nomad.Client, func() error, error) {
	if cfg.real {
		client, err := newNomadClient(&cfg.serve, term)
		return client, func() error { return nil }, err
	}
	cluster, err := devnomad.Start(devnomad.Config{Log: log})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot start the demo's cluster: %w", err)
	}
	return cluster.Client(), cluster.Close, nil
}

func registerApps(client *nomad.Client, idleAfter time.Duration) error {
	for _, app := range demoApps() {
		job, err := app.job(idleAfter)
		if err != nil {
			return err
		}
		if _, _, err := client.Jobs().Register(job, nil); err != nil {
			return fmt.Errorf("cannot register the demo's job %q: %w", *job.ID, err)
		}
	}
	return nil
}

// removeApps leaves a real Nomad as it was.
func removeApps(client *nomad.Client) error {
	var problems []error
	for _, app := range demoApps() {
		if _, _, err := client.Jobs().Deregister(app.jobID(), true, nil); err != nil {
			problems = append(problems, fmt.Errorf("cannot remove job %q: %w", app.jobID(), err))
		}
	}
	return errors.Join(problems...)
}

func welcome(term terminal, cfg demoConfig, s *stack) {
	gate := s.gateListener.Addr().(*net.TCPAddr).Port
	say(term.stdout, "Three apps are asleep behind the gate on port %d. Wake one:\n\n", gate)
	for _, app := range demoApps() {
		say(term.stdout, "  curl http://%s:%d/\t# %s\n", app.host(), gate, app.about)
	}
	say(term.stdout, "\nEach falls asleep again after %s without a request. Watch them:\n\n", cfg.idle)
	say(term.stdout, "  bin/doze status    bin/doze events    http://%s/ui/\n\n", s.apiListener.Addr())
	say(term.stdout, "Ctrl-C ends it all.\n")
}
