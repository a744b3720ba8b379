package plugins_test

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/hashicorp/go-hclog"

	"doze/plugins"
	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
	"doze/plugins/process"
)

// Plain is a driver of plain processes: config { command = "sleep"  args = ["60"] }.
// With its Tasks come Wait, Stop, Destroy, Inspect and Events.
type Plain struct {
	drivers.Tasks[*process.Process]
}

func (*Plain) Info() base.Info { return base.Info{Name: "plain", Version: "0.1.0"} }

func (*Plain) Capabilities() drivers.Capabilities { return drivers.Capabilities{} }

func (*Plain) Fingerprint(_ context.Context, send func(drivers.Fingerprint) error) error {
	return send(drivers.Fingerprint{Health: drivers.Healthy, Reason: "processes run here"})
}

func (*Plain) TaskSchema() hclspec.Spec {
	return hclspec.Object{
		"command": hclspec.Attr{Type: "string", Required: true},
		"args":    hclspec.Attr{Type: "list(string)"}}
}

func (d *Plain) Start(_ context.Context, t drivers.TaskConfig) (drivers.Started, error) {
	var cfg struct {
		Command string   `hcl:"command"`
		Args    []string `hcl:"args"`
	}
	if err := t.Decode(&cfg); err != nil {
		return drivers.Started{}, err
	}
	return d.Launch(t, func() (*process.Process, error) {
		return process.Start(t, exec.Command(cfg.Command, cfg.Args...))
	})
}

func (d *Plain) Recover(ctx context.Context, h drivers.Handle) error {
	return d.Adopt(ctx, h, process.Find)
}

// The main function of the plugin: a task driver of its own, in 60 lines.
func Example() {
	err := plugins.Serve(func(hclog.Logger) drivers.Driver { return &Plain{} })
	fmt.Println(err)
	// Output: this is a Nomad plugin: it is started by a Nomad agent, from its plugin_dir
}
