package drivertest

import (
	"context"
	"fmt"

	"doze/plugins/base"
	"doze/plugins/host"
)

// call is one that an agent makes, of the plugin or of its process.
type call struct {
	name string
	run  func(ctx context.Context) error
}

// do makes the calls, one after the other; the first that fails ends the test.
func (a *Agent) do(calls ...call) {
	a.t.Helper()
	for _, c := range calls {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := c.run(ctx)
		cancel()
		a.must(c.name, err)
	}
}

// boot is what an agent does with the plugin's processes when it starts. The first is only
// asked, the second only checks.
func (a *Agent) boot() []call {
	check := call{"SetConfig, to check", func(ctx context.Context) error {
		return a.SetConfig(ctx, base.Config{Raw: a.raw})
	}}
	first := []call{
		{"start the first process", a.launch},
		{"PluginInfo", a.askInfo},
		{"ConfigSchema", a.askSchema},
		{"end the first process", a.kill},
		{"start the second process", a.launch},
		check, check,
		{"end the second process", a.kill},
	}
	return append(first, a.dispense()...)
}

// dispense is what an agent does with the process that it uses, and again with another when
// that has died.
func (a *Agent) dispense() []call {
	return append([]call{
		{"start the process", a.launch},
		{"SetConfig", func(ctx context.Context) error {
			return a.SetConfig(ctx, base.Config{Raw: a.raw,
				Agent: &base.Agent{MinPort: 14000, MaxPort: 14512}})
		}},
	}, a.follow()...)
}

// follow is what an agent does with a process that is configured, now or by its predecessor.
func (a *Agent) follow() []call {
	return []call{
		{"Init", func(ctx context.Context) error { return a.Init(ctx) }},
		{"TaskConfigSchema", a.askTaskSchema},
		{"Capabilities", func(ctx context.Context) error {
			_, err := a.Capabilities(ctx)
			return err
		}},
		{"Fingerprint", a.openFingerprint},
		{"TaskEvents", a.openEvents},
	}
}

func (a *Agent) launch(context.Context) error {
	p, err := host.Launch(a.cfg.Command)
	a.Plugin = p
	return err
}

func (a *Agent) kill(context.Context) error {
	a.Kill()
	return nil
}

func (a *Agent) askInfo(ctx context.Context) (err error) {
	a.Info, err = a.Plugin.Info(ctx)
	return err
}

func (a *Agent) askSchema(ctx context.Context) error {
	schema, err := a.ConfigSchema(ctx)
	if err != nil || schema == nil {
		return err
	}
	if a.raw, err = host.EncodeConfig(schema, a.cfg.Plugin, nil); err != nil {
		return fmt.Errorf("cannot encode the plugin's configuration: %w", err)
	}
	return nil
}

func (a *Agent) askTaskSchema(ctx context.Context) (err error) {
	a.schema, err = a.TaskSchema(ctx)
	return err
}

func (a *Agent) openFingerprint(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	a.streams()
	a.streams = cancel
	p, before := a.Plugin, len(a.Fingerprints())
	a.stream(ctx, "fingerprint", func(ctx context.Context) error {
		return p.Fingerprint(ctx, a.fingerprinted)
	})
	a.Await("a fingerprint", func() bool { return len(a.Fingerprints()) > before })
	return nil
}

func (a *Agent) openEvents(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	fingerprint, p := a.streams, a.Plugin
	a.streams = func() { fingerprint(); cancel() }
	a.stream(ctx, "event", func(ctx context.Context) error { return p.Events(ctx, a.heard) })
	return nil
}
