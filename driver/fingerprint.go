package driver

import (
	"context"
	"maps"
	"os/user"
	"time"

	"doze/plugins/drivers"
)

// lookAgain is how often the machine is looked at; only a change is told.
const lookAgain = 30 * time.Second

// Fingerprint implements drivers.Driver.
func (d *Driver) Fingerprint(ctx context.Context, send func(drivers.Fingerprint) error) error {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	var told drivers.Fingerprint
	for first := true; ; first = false {
		if now := d.fingerprint(here()); first || !same(now, told) {
			if err := send(now); err != nil {
				return err
			}
			told = now
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func same(a, b drivers.Fingerprint) bool {
	return a.Health == b.Health && a.Reason == b.Reason && maps.Equal(a.Attributes, b.Attributes)
}

// fingerprint judges the machine, by the agent's configuration.
func (d *Driver) fingerprint(m machine) drivers.Fingerprint {
	cfg := d.config()
	if !cfg.Enabled {
		return drivers.Fingerprint{Health: drivers.Undetected,
			Reason: `disabled by enabled = false in the agent's plugin "doze" block`}
	}
	f := drivers.Fingerprint{Health: drivers.Healthy, Reason: drivers.Healthy.String(),
		Attributes: d.attributes(m)}
	problem := m.problem()
	if problem == "" {
		problem = cfg.problem()
	}
	switch {
	case problem != "":
		f.Health, f.Reason = drivers.Unhealthy, problem
	case m.remark() != "":
		f.Reason = m.remark()
	}
	return f
}

func (d *Driver) attributes(m machine) map[string]drivers.Attribute {
	return map[string]drivers.Attribute{
		"driver.doze.version":      drivers.Text(d.version),
		"driver.doze.cgroups":      drivers.Text(orNone(string(m.cgroups.Mode))),
		"driver.doze.freezer":      drivers.Text(orNone(m.cgroups.Freezer())),
		"driver.doze.memory_limit": drivers.Flag(m.cgroups.Has("memory")),
		"driver.doze.pressure":     drivers.Flag(m.psi),
		"driver.doze.logs":         drivers.Flag(d.config().Logs.on()),
	}
}

func orNone(kind string) string {
	if kind == "" {
		return "none"
	}
	return kind
}

// problem says why no task can be started with the configuration; "": they can.
func (c AgentConfig) problem() string {
	if err := makeStateDir(c.StateDir); err != nil {
		return err.Error()
	}
	if problem := stateDirProblem(c.StateDir); problem != "" {
		return problem
	}
	if _, err := user.Lookup(c.User); err != nil {
		return "there is no user " + c.User + " to run tasks as; name one with " +
			`user in the agent's plugin "doze" block`
	}
	return ""
}
