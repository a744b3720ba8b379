package devnomad_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doze/internal/devnomad"
	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
)

// refuser is a driver that refuses every task with where the task's logs are to go. By its
// config block it collects logs itself.
type refuser struct {
	drivers.Tasks[drivers.Running]
	collects bool
}

func (*refuser) Info() base.Info { return base.Info{Name: "refuser", Version: "0.1.0"} }

func (d *refuser) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{NoLogCollection: d.collects}
}

func (*refuser) ConfigSchema() hclspec.Spec {
	return hclspec.Object{"collects": hclspec.Attr{Type: "bool"}}
}

func (*refuser) CheckConfig(base.Config) error { return nil }

func (d *refuser) Configure(_ context.Context, cfg base.Config) error {
	var block struct {
		Collects bool `hcl:"collects"`
	}
	err := cfg.Decode(&block)
	d.collects = block.Collects
	return err
}

func (*refuser) TaskSchema() hclspec.Spec { return hclspec.Object{} }

func (*refuser) Fingerprint(_ context.Context, send func(drivers.Fingerprint) error) error {
	return send(drivers.Fingerprint{Health: drivers.Healthy, Reason: "it refuses here"})
}

func (*refuser) Start(_ context.Context, t drivers.TaskConfig) (drivers.Started, error) {
	var all []string
	for _, path := range []string{t.StdoutPath, t.StderrPath} {
		kind := "nothing"
		if st, err := os.Stat(path); err == nil {
			kind = fmt.Sprint(st.Mode() & fs.ModeNamedPipe)
		}
		all = append(all, path+" is "+kind)
	}
	return drivers.Started{}, fmt.Errorf("refused: %s", strings.Join(all, ", "))
}

func (*refuser) Recover(context.Context, drivers.Handle) error { return drivers.ErrTaskNotFound }

// As Nomad's client: a driver that collects logs itself is told of pipes that nobody has
// made, and of /dev/null only where the job wants no logs.
func TestPluginRunner_driverCollectsLogs_namesPipesAndMakesNone(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const pipe = "p---------" // as fs.ModeNamedPipe prints
	for _, c := range []struct {
		collects, noLogs bool
		paths, kind      string
	}{
		{false, false, "pipe", pipe},
		{true, false, "pipe", "nothing"},
		{false, true, "null", "----------"},
		{true, true, "null", "----------"},
	} {
		runner, err := devnomad.NewPluginRunner(t.Context(), devnomad.PluginConfig{Path: self,
			Config: map[string]any{"collects": c.collects}})
		if err != nil {
			t.Fatal(err)
		}
		logs := t.TempDir()
		out, errs := filepath.Join(logs, ".app.stdout.fifo"), filepath.Join(logs, ".app.stderr.fifo")
		if c.paths == "null" {
			out, errs = os.DevNull, os.DevNull
		}
		_, err = runner.Start(t.Context(), devnomad.TaskSpec{ID: "a/app/1", Name: "app",
			Stdout: filepath.Join(logs, "app.stdout.0"),
			Stderr: filepath.Join(logs, "app.stderr.0"), NoLogs: c.noLogs})
		want := fmt.Sprintf("refused: %s is %s, %s is %s", out, c.kind, errs, c.kind)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the driver collects: %t, no logs: %t: got %v, want %q",
				c.collects, c.noLogs, err, want)
		}
		if left, err := filepath.Glob(filepath.Join(logs, "*fifo")); err != nil || len(left) != 0 {
			t.Errorf("%v is left, %v", left, err)
		}
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	}
}
