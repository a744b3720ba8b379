//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"doze/internal/devnomad"
)

// The embedded cluster runs tasks of the driver through the real plugin: they freeze, wake,
// tell of it and outlive the plugin as they do on a real Nomad, whoever collects their logs.
func TestDriver_onTheEmbeddedCluster_isTheRealOne(t *testing.T) {
	t.Run("the cluster collects logs", func(t *testing.T) {
		startEmbeddedDriven(t).testAll(func() {})
	})
	t.Run("the shepherds collect logs", func(t *testing.T) {
		d := startEmbeddedDrivenWith(t, map[string]any{"logs": []map[string]any{{}}})
		d.testAll(func() { d.checkOnlyCollector("demo") })
	})
}

// testAll is a task's life, with a look at it while it runs.
func (d *embeddedDriven) testAll(look func()) {
	t := d.t
	d.run(drivenJob{id: "demo", config: map[string]any{"listen": "http"}})
	look()
	alloc := d.alloc("demo").ID
	life, _ := d.whoAnswers("demo")
	d.sleep("demo", "SIGSTOP", frozen)
	d.awaitEvent("demo", "frozen")
	if now, _ := d.whoAnswers("demo"); now != life || d.depth("demo") != awake {
		t.Errorf("a connection did not thaw the process from %s, but reached %s", life, now)
	}

	fail(t, syscall.Kill(pluginPid(t, d.plugin), syscall.SIGKILL))
	d.await("another plugin to know the task", func() error {
		return d.client.Allocations().Signal(d.alloc("demo"), d.query(), "app", "SIGCONT")
	})
	if now, _ := d.whoAnswers("demo"); now != life {
		t.Errorf("the process from %s answers after the plugin's death, not %s", now, life)
	}
	d.mustGet("demo", "/log?line=written")
	d.mustGet("demo", "/exit?code=6&after=50ms")
	d.awaitEvent("demo", "Exit Code: 6")
	d.await("the log", func() error {
		log, err := os.ReadFile(filepath.Join(d.dataDir, "alloc", alloc, "alloc/logs/app.stdout.0"))
		if err == nil && !strings.Contains(string(log), "begins\nwritten\n") {
			err = fmt.Errorf("it is %q", log)
		}
		return err
	})
	d.run(drivenJob{id: "left", config: map[string]any{"listen": "http"}})
	left := d.alloc("left").ID
	d.end()
	if err := noneOf(processesOf(t, left)); err != nil {
		t.Errorf("the cluster has left processes: %v", err)
	}
}

// embeddedDriven is the embedded cluster with the driver.
type embeddedDriven struct {
	*driven
	dataDir string
	end     func() // ends it, once
}

func startEmbeddedDriven(t testing.TB) *embeddedDriven {
	t.Helper()
	return startEmbeddedDrivenWith(t, nil)
}

// startEmbeddedDrivenWith has more in the config block of the driver's plugin block.
func startEmbeddedDrivenWith(t testing.TB, more map[string]any) *embeddedDriven {
	t.Helper()
	dir, err := os.MkdirTemp("", "doze-e2e-demo-")
	fail(t, err)
	plugin := filepath.Join(dir, "doze")
	copyProgram(t, binary, plugin)
	self, err := os.Executable()
	fail(t, err)
	// The test's directories are root's alone.
	config := map[string]any{"state_dir": filepath.Join(dir, "run"), "user": "root",
		"allow_root": true}
	maps.Copy(config, more)
	runner, err := devnomad.NewPluginRunner(t.Context(),
		devnomad.PluginConfig{Path: plugin, Config: config})
	fail(t, err)
	data := filepath.Join(dir, "data")
	c, err := devnomad.Start(devnomad.Config{DataDir: data,
		Drivers: map[string]devnomad.Runner{"doze": runner}})
	fail(t, err)
	ended := false
	end := func() {
		if ended {
			return
		}
		ended = true
		fail(t, c.Close())
		fail(t, runner.Close())
		fail(t, os.RemoveAll(dir))
	}
	t.Cleanup(end)
	return &embeddedDriven{dataDir: data, end: end, driven: &driven{t: t, plugin: plugin, app: self,
		cluster: &cluster{addr: c.Addr(), namespace: "default", client: c.Client()}}}
}
