package driver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"doze/plugins/base"
	"doze/plugins/drivers"
)

// ShortDir is an empty directory whose path is short enough for sockets.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "doze")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// good is a machine that the driver can use.
func good() machine {
	return survey(files("6.8.0", onlyV2), 0)
}

// agentBlock is a plugin's config block as an agent sends it.
func agentBlock(t testing.TB, keys map[string]any) base.Config {
	t.Helper()
	raw, err := msgpack.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	return base.Config{Raw: raw, Agent: &base.Agent{}}
}

func TestFingerprint_goodMachine_isHealthyWithAttributes(t *testing.T) {
	d := New(Config{Version: "1.2.3"})
	cfg := agentBlock(t, map[string]any{"state_dir": ShortDir(t)})
	if err := d.Configure(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	f := d.fingerprint(good())
	if f.Health != drivers.Healthy || f.Reason != "healthy" {
		t.Errorf("got %s: %s", f.Health, f.Reason)
	}
	for name, want := range map[string]any{"version": "1.2.3", "cgroups": "v2", "freezer": "v2",
		"memory_limit": true, "pressure": true, "logs": false} {
		if got := f.Attributes["driver.doze."+name].Value; got != want {
			t.Errorf("driver.doze.%s is %v, not %v", name, got, want)
		}
	}
}

func TestFingerprint_whatKeepsTasksFromRunning_isTheReason(t *testing.T) {
	open := ShortDir(t)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(ShortDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		machine machine
		keys    map[string]any
		health  drivers.Health
		reason  string
	}{
		{good(), map[string]any{"enabled": false}, drivers.Undetected, "disabled by enabled = false"},
		{survey(files("4.4.0", v1("cpu")), 0), nil, drivers.Unhealthy, "there is no freezer"},
		{good(), map[string]any{"state_dir": open}, drivers.Unhealthy, "can be written to by others"},
		{good(), map[string]any{"state_dir": file}, drivers.Unhealthy, "cannot make state_dir"},
		{good(), map[string]any{"state_dir": ShortDir(t), "user": "no-such-user"},
			drivers.Unhealthy, "there is no user no-such-user"},
	} {
		d := New(Config{})
		if err := d.Configure(t.Context(), agentBlock(t, c.keys)); err != nil {
			t.Fatal(err)
		}
		f := d.fingerprint(c.machine)
		if f.Health != c.health || !strings.Contains(f.Reason, c.reason) {
			t.Errorf("%v: got %s: %s", c.keys, f.Health, f.Reason)
		}
	}
}

func TestFingerprint_nothingChanges_isToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*lookAgain)
		defer cancel()
		told := 0
		err := d.Fingerprint(ctx, func(drivers.Fingerprint) error { told++; return nil })
		if told != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it was told %d times, %v", told, err)
		}
	})
}

func TestFingerprint_somethingChanges_isToldWithTheNextLook(t *testing.T) {
	dir := filepath.Join(ShortDir(t), "doze")
	synctest.Test(t, func(t *testing.T) {
		d := New(Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*lookAgain)
		defer cancel()
		began := time.Now()
		var told []drivers.Fingerprint
		var after []time.Duration
		err := d.Fingerprint(ctx, func(f drivers.Fingerprint) error {
			told, after = append(told, f), append(after, time.Since(began))
			return d.Configure(ctx, agentBlock(t, map[string]any{
				"state_dir": dir, "logs": map[string]any{}, "enabled": len(told) < 2}))
		})
		want := []time.Duration{0, lookAgain, 2 * lookAgain}
		if !slices.Equal(after, want) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("it was told after %v, not %v; %v", after, want, err)
		}
		if got := told[1].Attributes["driver.doze.logs"].Value; got != true {
			t.Errorf("driver.doze.logs is %v once the shepherds write them", got)
		}
		if told[2].Health != drivers.Undetected {
			t.Errorf("disabled it is %s: %s", told[2].Health, told[2].Reason)
		}
	})
}

func TestAgentConfig_everyProblem_isTold(t *testing.T) {
	err := New(Config{}).CheckConfig(agentBlock(t, map[string]any{
		"state_dir": "run/" + strings.Repeat("x", 100), "user": "root",
		"logs": map[string]any{"max_files": 0, "max_file_size": -1}}))
	for _, want := range []string{"config > state_dir: \"run/xx", "is not absolute",
		"config > user: is root; set allow_root = true", "config > logs > max_files: is 0; use at",
		"config > logs > max_file_size: is -1; it is in MB"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, dir := range []string{"/", "/" + strings.Repeat("x", 69)} {
		if (AgentConfig{StateDir: dir}).Validate() == nil {
			t.Errorf("%s is taken for good", dir)
		}
	}
	if err := (AgentConfig{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

func TestAgentConfig_onlyChecked_touchesNothing(t *testing.T) {
	dir := filepath.Join(ShortDir(t), "doze")
	cfg := agentBlock(t, map[string]any{"state_dir": dir})
	d := New(Config{})
	if err := d.CheckConfig(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Fatal("the state directory was made before the agent had configured the driver")
	}
	if err := d.Configure(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the state directory: %v, %v", st, err)
	}
}
