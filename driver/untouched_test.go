package driver_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"doze/driver"
	"doze/plugins/base"
	"doze/plugins/host"
)

// Agents start the plugin to ask and to check, on machines where it is never used: until it
// is configured it makes nothing, starts nothing, listens nowhere but at go-plugin's socket,
// and has nothing open that it could write to. That holds of the program that is installed,
// whose other verbs it is too.
func TestPlugin_notConfigured_touchesNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"alone": self, "installed": installed(t)} {
		t.Run(name, func(t *testing.T) { touchesNothing(t, program) })
	}
}

// installed is the program that is put into a node's plugin_dir.
func installed(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "doze")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "doze/cmd/doze")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the program: %v\n%s", err, out)
	}
	return program
}

func touchesNothing(t *testing.T, program string) {
	t.Helper()
	state, sockets := filepath.Join(driver.ShortDir(t), "state"), driver.ShortDir(t)
	mark := "UNTOUCHED=" + sockets
	p, err := host.Launch(apart(t, host.Command{Path: program,
		Env: []string{mark, "TMPDIR=" + sockets, "GORACE=atexit_sleep_ms=0"}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	cfg := configOf(t, p, map[string]any{"state_dir": state, "user": "root", "allow_root": true})
	_, schemaErr := p.TaskSchema(t.Context())
	_, capabilityErr := p.Capabilities(t.Context())
	_, infoErr := p.Info(t.Context())
	for _, err := range []error{schemaErr, capabilityErr, infoErr, p.SetConfig(t.Context(), cfg)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(state); err == nil {
		t.Error("state_dir was made by a plugin that was only asked and checked")
	}
	pid := p.Attachment().PID
	for what, found := range map[string][]string{
		"files that are open to write": writable(t, pid), "new files": made(t, pid),
		"sockets": listening(t, pid, sockets), "processes": started(t, pid, mark),
	} {
		if len(found) != 0 {
			t.Errorf("a plugin that was only asked and checked has %s: %q", what, found)
		}
	}
	left, err := os.ReadDir(sockets)
	if err != nil || len(left) != 1 || left[0].Type() != fs.ModeSocket {
		t.Errorf("beside its socket it has made %v, %v", left, err)
	}

	cfg.Agent = &base.Agent{}
	if err := p.SetConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(state); err != nil {
		t.Errorf("configured it has made no state_dir: %v", err)
	}
}

// configOf is the config block for a plugin that is only to check it.
func configOf(t *testing.T, p *host.Plugin, block map[string]any) base.Config {
	t.Helper()
	schema, err := p.ConfigSchema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := host.EncodeConfig(schema, block, nil)
	if err != nil {
		t.Fatal(err)
	}
	return base.Config{Raw: raw}
}
