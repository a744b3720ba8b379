package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"doze/api"
	"doze/healthgate"
	"doze/idle"
	"doze/jobs"
)

// journalSize is how many transitions an event stream can be resumed over.
const journalSize = 4096

// maxProbes bounds the probes under way at once, over all groups.
const maxProbes = 256

// stack is everything that `doze serve` runs, put together.
type stack struct {
	cfg     serveConfig
	log     *slog.Logger
	client  *nomad.Client
	loop    *idle.Loop
	journal *api.Journal
	gate    *api.Gate
	join    *join
	watcher *jobs.Watcher
	leases  *restorer
	health  *healthgate.Health

	upgraded *healthgate.Upgraded // connections that have left HTTP
	control  http.Handler
	auth     api.Authorizer

	gateListener, apiListener net.Listener
}

// newStack puts everything together; it listens, and does nothing more before run.
func newStack(cfg serveConfig, client *nomad.Client, log *slog.Logger) (*stack, error) {
	s := &stack{
		cfg: cfg, log: log, client: client,
		upgraded: new(healthgate.Upgraded),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := api.NewMetrics(registry)
	s.journal = api.NewJournal(journalSize)
	s.loop = idle.NewLoop(idle.Config{
		MaxWakes: cfg.MaxWakes, Log: log,
		OnTransition: func(t idle.Transition) {
			s.journal.Record(t)
			metrics.Transition(t)
		},
	})
	s.leases = newRestorer(s.loop, log)
	metrics.Groups(s.loop.Groups)
	if err := s.build(metrics, registry); err != nil {
		return nil, err
	}
	return s, s.listen()
}

func (s *stack) build(metrics *api.Metrics, registry *prometheus.Registry) (err error) {
	routes := api.NewRoutes()
	s.gate, err = api.NewGate(api.GateConfig{
		Routes: routes, MaxHeld: s.cfg.MaxHeld, Off: s.cfg.Gate == "off",
		Upgraded: s.upgraded, Metrics: metrics, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.join = &join{
		loop: s.loop, routes: routes, gone: s.gate.OnGone,
		counters: new(healthgate.Counters), limit: healthgate.NewLimiter(maxProbes),
		off: s.cfg.Gate == "off", log: s.log, found: s.leases.add,
		diagnostics: map[idle.GroupID]jobs.Diagnostics{},
	}
	metrics.Counters(s.join.counters)
	s.watcher, err = jobs.NewWatcher(jobs.Config{
		Client: s.client, Namespaces: list(s.cfg.Namespaces),
		ReconcileEvery: s.cfg.Reconcile, Log: s.log,
	}, s.join)
	if err != nil {
		return err
	}
	s.leases.leases = s.watcher.Leases
	if s.health, err = s.newHealth(); err != nil {
		return err
	}
	return s.buildControl(registry)
}

func (s *stack) buildControl(registry *prometheus.Registry) (err error) {
	if s.auth, err = s.authorizer(); err != nil {
		return err
	}
	if err := api.ValidateListen(s.cfg.APIAddress, s.auth); err != nil {
		return usagef("api-address: %w", err)
	}
	s.control, err = api.NewControl(api.ControlConfig{
		Loop: s.loop, Journal: s.journal, Diagnostics: s.join.list, Auth: s.auth,
		Leases: s.watcher, Health: s.health,
		Metrics:      promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		AllowedHosts: list(s.cfg.APIHosts), Version: buildVersion(), Log: s.log,
	})
	return err
}

func (s *stack) listen() (err error) {
	s.gateListener, err = net.Listen("tcp", s.cfg.GateAddress)
	if err != nil {
		return fmt.Errorf("cannot listen for the gate: %w; gate-address names another", err)
	}
	s.apiListener, err = net.Listen("tcp", s.cfg.APIAddress)
	if err != nil {
		return errors.Join(
			fmt.Errorf("cannot listen for the API: %w; api-address names another", err),
			s.gateListener.Close())
	}
	return nil
}

// newHealth is doze serve's own readiness: Nomad answers, the event stream is current and
// everything has been listed once. Liveness never depends on Nomad.
func (s *stack) newHealth() (*healthgate.Health, error) {
	return healthgate.NewHealth(healthgate.HealthConfig{
		Enabled: true,
		Checks: []healthgate.Check{
			{Name: "nomad", Check: func(context.Context) error { return s.watcher.Current() }},
			{Name: "listed", Check: func(context.Context) error {
				if !s.join.synced.Load() {
					return errors.New("the jobs have not been listed yet")
				}
				return nil
			}},
		},
		CacheInterval: 100 * time.Millisecond, // the checks only look at what is in memory
		ReportChecks:  s.cfg.ReportChecks,
		Log:           s.log,
	})
}

// run serves until ctx ends, then shuts down in order; the end of hurry cuts that short.
func (s *stack) run(ctx, hurry context.Context) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	loopCtx, stopLoop := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLoop()
	failed := make(chan error, 4)
	var parts, loop sync.WaitGroup
	loop.Go(func() { failed <- s.loop.Run(loopCtx) })
	parts.Go(func() { failed <- s.watcher.Run(background) })
	parts.Go(func() { s.leases.run(background) })
	if auth, ok := s.auth.(nomadAuth); ok {
		parts.Go(func() { auth.warnUnguarded(background, s.log) })
	}
	gate, control := s.gate.Front(), api.NewControlServer(s.control, s.log)
	parts.Go(func() { failed <- served(gate.Serve(s.gateListener)) })
	parts.Go(func() { failed <- served(control.Serve(s.apiListener)) })
	s.health.Start()
	s.log.Info("serving", "gate", s.gateListener.Addr(), "api", s.apiListener.Addr())

	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	drainErr := s.drain(hurry, []healthgate.DrainServer{gate, controlServer{control, s.journal}},
		[]healthgate.DrainPart{
			{Name: "lifecycle", Stop: stopAndWait(stopLoop, &loop)},
			{Name: "watcher", Stop: stopAndWait(stop, &parts)},
		})
	return errors.Join(err, drainErr)
}

func (s *stack) drain(hurry context.Context, servers []healthgate.DrainServer,
	components []healthgate.DrainPart) error {
	drain, err := healthgate.NewDrain(healthgate.DrainConfig{
		Delay: s.cfg.DrainDelay, Timeout: s.cfg.ShutdownTimeout, Health: s.health,
		Servers: servers, Upgraded: s.upgraded, BeforeCut: s.gate.RefuseHeld,
		Components: components, Log: s.log,
	})
	if err != nil {
		return err
	}
	return drain.Run(hurry)
}

// controlServer ends the event streams as soon as the shutdown begins, for they would
// never end by themselves.
type controlServer struct {
	*http.Server
	journal *api.Journal
}

func (c controlServer) Shutdown(ctx context.Context) error {
	c.journal.Close()
	return c.Server.Shutdown(ctx)
}

// stopAndWait ends something and waits for it, within the context's time.
func stopAndWait(stop func(), group *sync.WaitGroup) func(context.Context) error {
	return func(ctx context.Context) error {
		stop()
		done := make(chan struct{})
		go func() { // ends when the group does; abandoned with the process otherwise
			group.Wait()
			close(done)
		}()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// served is the error of a server that ended, nil where it was told to.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
