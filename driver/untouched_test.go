package driver_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"doze/plugins/base"
	"doze/plugins/host"
)

// Agents start the plugin to ask and to check, on machines where it is never used: until it
// is configured it makes nothing and has nothing open that it could write to.
func TestPlugin_notConfigured_touchesNothing(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	state, sockets := filepath.Join(t.TempDir(), "state"), t.TempDir()
	p, err := host.Launch(host.Command{Path: program,
		Env: []string{"TMPDIR=" + sockets, "GORACE=atexit_sleep_ms=0"}})
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
	if open := writable(t, p.Attachment().PID); len(open) != 0 {
		t.Errorf("it has open to write %q", open)
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

// writable are the files and directories of the machine that a process has open to write to.
// Its pipes and sockets are none of them.
func writable(t *testing.T, pid int) (paths []string) {
	t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) < 3 {
		t.Fatalf("process %d has %d files open, %v", pid, len(fds), err)
	}
	for _, fd := range fds {
		path, err := os.Readlink(fd)
		if os.IsNotExist(err) {
			continue // closed meanwhile
		}
		info, infoErr := os.ReadFile(strings.Replace(fd, "/fd/", "/fdinfo/", 1))
		if err != nil || infoErr != nil {
			t.Fatalf("cannot look at %s: %v, %v", fd, err, infoErr)
		}
		_, flags, _ := strings.Cut(string(info), "flags:\t")
		var mode int
		if _, err := fmt.Sscanf(flags, "%o", &mode); err != nil {
			t.Fatalf("cannot read the flags of %s in %q: %v", fd, info, err)
		}
		if strings.HasPrefix(path, "/") && path != os.DevNull && mode&unix.O_ACCMODE != unix.O_RDONLY {
			paths = append(paths, path)
		}
	}
	return paths
}
