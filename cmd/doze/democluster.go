package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"text/tabwriter"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/devnomad"
)

// demoCluster is what the demo runs on, and its apps.
type demoCluster struct {
	client   *nomad.Client
	apps     []demoApp
	term     terminal
	note     string // why there is no frozen app, "" where there is one
	stateDir string // of the task driver, for `doze tasks`
	ends     []func() error
}

// startDemoCluster starts the embedded cluster, or uses the real Nomad.
func startDemoCluster(ctx context.Context, cfg demoConfig, term terminal,
	log *slog.Logger) (*demoCluster, error) {
	c := &demoCluster{apps: demoApps(), term: term}
	if cfg.real {
		client, err := newNomadClient(&cfg.serve, term)
		c.client, c.note = client, "the frozen app is for the demo's own cluster"
		return c, err
	}
	drivers, err := c.startDriver(ctx, log)
	if err != nil {
		c.note = "no app that freezes: " + err.Error()
	}
	cluster, err := devnomad.Start(devnomad.Config{Log: log, Drivers: drivers})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start the demo's cluster: %w", err), c.close())
	}
	c.client = cluster.Client()
	c.ends = append(c.ends, cluster.Close)
	return c, nil
}

// startDriver has this program serve the task driver as well, where the machine allows it.
func (c *demoCluster) startDriver(ctx context.Context,
	log *slog.Logger) (map[string]devnomad.Runner, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "doze-demo-")
	if err != nil {
		return nil, err
	}
	c.ends = append(c.ends, func() error { return os.RemoveAll(dir) })
	runner, err := devnomad.NewPluginRunner(ctx, devnomad.PluginConfig{
		Path: binary, Log: log,
		Config: map[string]any{
			"state_dir":  dir,
			"allow_root": os.Getuid() == 0, // see demoApp.job
			"logs":       []map[string]any{{}},
		},
	})
	if err != nil {
		return nil, err
	}
	if err := runner.Healthy(ctx); err != nil {
		return nil, errors.Join(err, runner.Close())
	}
	c.apps, c.stateDir = append(c.apps, frozenApp()), dir
	c.ends = append(c.ends, runner.Close)
	return map[string]devnomad.Runner{"doze": runner}, nil
}

// close ends what was started, the last first. A real Nomad is left as it was.
func (c *demoCluster) close() error {
	var problems []error
	for i := len(c.ends) - 1; i >= 0; i-- {
		problems = append(problems, c.ends[i]())
	}
	return errors.Join(problems...)
}

// register submits the apps' jobs; close takes them back.
func (c *demoCluster) register(idleAfter time.Duration) error {
	for _, app := range c.apps {
		job, err := app.job(idleAfter)
		if err != nil {
			return err
		}
		if _, _, err := c.client.Jobs().Register(job, nil); err != nil {
			return fmt.Errorf("cannot register the demo's job %q: %w", *job.ID, err)
		}
		c.ends = append(c.ends, func() error { return c.remove(app) })
	}
	return nil
}

func (c *demoCluster) remove(app demoApp) error {
	if _, _, err := c.client.Jobs().Deregister(app.jobID(), true, nil); err != nil {
		return fmt.Errorf("cannot remove job %q: %w", app.jobID(), err)
	}
	return nil
}

// welcome says what to try.
func (c *demoCluster) welcome(cfg demoConfig, s *stack) {
	out := c.term.stdout
	gate := s.gateListener.Addr().(*net.TCPAddr).Port
	say(out, "%d apps are asleep behind the gate on port %d. Wake one:\n\n", len(c.apps), gate)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, app := range c.apps {
		say(table, "  curl http://%s:%d/\t# %s\n", app.host(), gate, app.about)
	}
	if err := table.Flush(); err != nil {
		return // nobody reads
	}
	if c.note != "" {
		say(out, "  (%s)\n", c.note)
	}
	say(out, "\nEach falls asleep again after %s without a request%s. Watch them:\n\n", cfg.idle,
		c.butFrozen())
	say(out, "  bin/doze status    bin/doze events    http://%s/ui/\n\n", s.apiListener.Addr())
	c.welcomeFrozen()
	say(out, "Ctrl-C ends it all.\n")
}

func (c *demoCluster) butFrozen() string {
	if c.note != "" {
		return ""
	}
	return ", but for frozen"
}

// welcomeFrozen says what the frozen app does, which `doze status` does not show.
func (c *demoCluster) welcomeFrozen() {
	if c.note != "" {
		return
	}
	app := frozenApp()
	say(c.term.stdout, "frozen sleeps in place: its group stays ready for %s, while its task freezes some\n"+
		"seven seconds after your last request. See it asleep:\n\n"+
		"  bin/doze tasks -state-dir %s\n\n", app.idle, c.stateDir)
}
