package driver

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"doze/healthgate"
	"doze/plugins/drivers"
)

// block is a task whose config block has the given keys, and the port http.
func block(t testing.TB, keys map[string]any) drivers.TaskConfig {
	t.Helper()
	raw, err := msgpack.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	return drivers.TaskConfig{
		ID: "alloc/web/1", Name: "web", AllocID: "alloc", AllocDir: "/alloc", Raw: raw,
		Resources: drivers.Resources{
			Ports: []drivers.Port{{Label: "http", Value: 23456, To: 8080, HostIP: "10.0.0.1"}},
		},
	}
}

func readConfig(t testing.TB, keys map[string]any) (TaskConfig, Problems) {
	t.Helper()
	var raw rawTask
	if err := block(t, keys).Decode(&raw); err != nil {
		t.Fatal(err)
	}
	return raw.read()
}

func TestTaskConfig_everyKey_isRead(t *testing.T) {
	got, problems := readConfig(t, map[string]any{
		"command": "local/web", "args": []string{"--port", "$DOZE_PORT"},
		"listen": "http", "activation": "relay", "port_env": "PORT",
		"freeze_after": "45s", "park_after": "1h", "start": "on_demand",
		"wake_timeout": "20s", "shield": []string{"/healthz"}, "pids_limit": 64,
		"park_signal": "int", "park_timeout": "12s",
		"logs": map[string]any{"max_files": 3, "max_file_size": 2},
		"probe": map[string]any{"http": map[string]any{
			"path": "/ready", "method": "HEAD", "host": "web", "statuses": "204", "body": "ok",
			"headers": map[string]any{"X-A": "1"}, "tls": true, "service": nil,
			"interval": "2s", "timeout": "3s", "initial_delay": "0s", "rise": 2, "fall": 4,
		}},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := TaskConfig{
		Command: "local/web", Args: []string{"--port", "$DOZE_PORT"},
		Listen: "http", Activation: "relay", PortEnv: "PORT",
		FreezeAfter: 45 * time.Second, ParkAfter: time.Hour, OnDemand: true,
		WakeTimeout: 20 * time.Second, Shield: []string{"/healthz"}, PidsLimit: 64,
		ParkSignal: "SIGINT", ParkTimeout: 12 * time.Second, Logs: LogConfig{3, 2},
		Probe: healthgate.ProbeConfig{Kind: "http", Path: "/ready", Method: "HEAD", Host: "web",
			Statuses: "204", Body: "ok", Header: map[string][]string{"X-A": {"1"}}, TLS: true,
			Interval: 2 * time.Second, Timeout: 3 * time.Second, Rise: 2, Fall: 4},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTaskConfig_emptyLogsBlock_meansWhatNomadsOwnDoes(t *testing.T) {
	got, problems := readConfig(t, map[string]any{"command": "web", "logs": map[string]any{}})
	if want := (LogConfig{MaxFiles: 10, MaxFileSize: 10}); len(problems) > 0 || got.Logs != want {
		t.Errorf("got %+v, %v", got.Logs, problems)
	}
}

func TestTaskConfig_parking_hasToEndTheAppInTime(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"park_signal=SIGSTOP", "SIGSTOP ends no process; use one that ends the app"},
		{"park_signal=sigtstp", "SIGTSTP ends no process; use one that ends the app"},
		{"park_timeout=90s", "1m30s is longer than wake_timeout, 1m0s, in which a connection"},
		{"park_timeout=0s", `"0s" is too short`},
	} {
		key, value, _ := strings.Cut(c.keys, "=")
		_, problems := readConfig(t, map[string]any{"command": "web", key: value})
		if want := "config > " + key + ": " + c.want; len(problems) != 1 ||
			!strings.HasPrefix(problems.Error(), want) {
			t.Errorf("%s: got %v, want %q", c.keys, problems, want)
		}
	}
	got, problems := readConfig(t, map[string]any{"command": "web", "wake_timeout": "2s",
		"park_signal": "SIGUSR2"})
	if s := got.spec(); len(problems) > 0 || s.ParkTimeout != 2*time.Second ||
		s.ParkSignal != "SIGUSR2" {
		t.Errorf("parking is by %s and may take %s, %v", s.ParkSignal, s.ParkTimeout, problems)
	}
}

func TestTaskConfig_execProbe_runsInTheTask(t *testing.T) {
	got, problems := readConfig(t, map[string]any{"command": "web", "listen": "http",
		"probe": map[string]any{"exec": map[string]any{"command": []string{"local/check", "-q"}}}})
	want := healthgate.ProbeConfig{Kind: "exec", Command: []string{"local/check", "-q"}}
	if len(problems) > 0 || !reflect.DeepEqual(got.Probe, want) {
		t.Errorf("got %+v, %v", got.Probe, problems)
	}
}

func TestTaskConfig_keysLeftOut_haveTheirDefaults(t *testing.T) {
	none := 0 * time.Second
	for name, c := range map[string]struct {
		keys         map[string]any
		freeze, park time.Duration
	}{
		"without listen a task never sleeps": {map[string]any{}, none, none},
		"with listen it freezes":             {map[string]any{"listen": "http"}, 30 * time.Second, none},
		"empty is never": {
			map[string]any{"listen": "http", "freeze_after": "", "park_after": ""}, none, none},
		"null is left out": {
			map[string]any{"listen": "http", "freeze_after": nil}, 30 * time.Second, none},
		"parked sooner, it is not frozen": {
			map[string]any{"listen": "http", "park_after": "10s"}, none, 10 * time.Second},
		"parked later, it is frozen before": {
			map[string]any{"listen": "http", "park_after": "15m"},
			30 * time.Second, 15 * time.Minute},
	} {
		c.keys["command"] = "web"
		got, problems := readConfig(t, c.keys)
		if len(problems) > 0 || got.FreezeAfter != c.freeze || got.ParkAfter != c.park {
			t.Errorf("%s: freezes after %s, parks after %s, problems %v", name,
				got.FreezeAfter, got.ParkAfter, problems)
		}
		if got.WakeTimeout != time.Minute || got.PidsLimit != 4096 ||
			got.Activation != "relay" || got.OnDemand || got.Logs != (LogConfig{}) ||
			got.ParkSignal != "SIGTERM" || got.ParkTimeout != 5*time.Second {
			t.Errorf("%s: the other defaults are wrong: %+v", name, got)
		}
	}
}

func TestTaskConfig_manyProblems_areAllReportedWithPathAndHint(t *testing.T) {
	_, problems := readConfig(t, map[string]any{
		"command": " ", "activation": "sokcet", "port_env": "9", "start": "lazy", "listen": "http",
		"freeze_after": "1h", "park_after": "30m", "wake_timeout": "soon", "pids_limit": 0,
		"shield": []string{"/ok", "healthz"}, "park_signal": "SIGFOO", "park_timeout": "x",
		"logs": map[string]any{"max_files": 0, "max_file_size": -1},
		"probe": map[string]any{
			"http": map[string]any{"path": "x", "interval": "-1s"},
			"icmp": map[string]any{},
		},
	})
	want := []string{
		"config > command: is empty; name a program",
		`config > start: is "lazy"; use "eager" or "on_demand"`,
		`config > activation: is "sokcet"; use "relay" or "socket"`,
		`config > wake_timeout: "soon" is no duration; write it as`,
		`config > park_signal: there is no signal "SIGFOO"; use one that ends the app, as SIGHUP, `,
		`config > park_timeout: "x" is no duration; write it as`,
		"config > probe: there are 2: http, icmp; keep one",
		`config > probe "http" > interval: "-1s" is too short; use at least`,
		`config > probe "http" > path: "x" must begin with "/"`,
		`config > probe: there is no probe "icmp"; there are http, tcp, grpc, exec`,
		"config > logs > max_files: is 0; use at least 1, or leave it out for 10",
		"config > logs > max_file_size: is -1; it is in MB: use 1 to 1048576, or leave it out",
		"config > park_after: 30m0s is not longer than freeze_after, 1h0m0s; make it longer",
		"config > pids_limit: is 0; use at least 1",
		`config > port_env: "9" is no name of a variable; use letters`,
		`config > shield[1]: "healthz" is no path; write a path`,
	}
	lines := strings.Split(problems.Error(), "\n")
	if len(lines) != len(want) {
		t.Errorf("there are %d problems, not %d:\n%s", len(lines), len(want), problems)
	}
	for _, w := range want {
		if !strings.Contains(problems.Error(), w) {
			t.Errorf("none of the problems is %q:\n%s", w, problems)
		}
	}
}

func TestTaskConfig_sleepWithoutListen_isRefusedKeyByKey(t *testing.T) {
	for key, value := range map[string]any{
		"freeze_after": "1s", "park_after": "1s", "start": "on_demand", "activation": "socket",
		"port_env": "PORT", "shield": []string{"/"},
		"probe": map[string]any{"tcp": map[string]any{}},
	} {
		_, problems := readConfig(t, map[string]any{"command": "web", key: value})
		want := "config > " + key + `: means nothing without listen; name the port that wakes`
		if len(problems) != 1 || !strings.HasPrefix(problems.Error(), want) {
			t.Errorf("%s: got %v, want %q", key, problems, want)
		}
	}
}

func TestTaskConfig_whatSocketActivationCannotDo_isRefused(t *testing.T) {
	_, problems := readConfig(t, map[string]any{"command": "web", "listen": "http",
		"activation": "socket", "port_env": "PORT", "shield": []string{"/healthz"}})
	for _, key := range []string{"port_env", "shield"} {
		want := "config > " + key + ": means nothing with activation = \"socket\""
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("got %v, want %q", problems, want)
		}
	}
}

func FuzzTaskConfig_anyBytes_neverPanicsAndNeverContradictsItself(f *testing.F) {
	for _, keys := range []map[string]any{
		{"command": "web"},
		{"command": "web", "listen": "http", "freeze_after": "30s", "park_after": nil},
		{"command": 1, "probe": map[string]any{"http": map[string]any{"rise": "1e9"}}},
		{"command": "x", "listen": "http", "shield": []string{"/"}, "activation": "socket"},
		{"command": "x", "logs": map[string]any{"max_files": 1 << 40, "max_file_size": 1 << 50}},
		{"command": "x", "park_signal": "9", "park_timeout": "1h"},
	} {
		f.Add(block(f, keys).Raw)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var raw rawTask
		if (drivers.TaskConfig{Raw: data}).Decode(&raw) != nil {
			return
		}
		c, problems := raw.read()
		if len(problems) > 0 {
			_ = problems.Error()
			return
		}
		sleeps := c.FreezeAfter > 0 || c.ParkAfter > 0 || c.OnDemand
		if c.ParkTimeout <= 0 || c.ParkTimeout > c.WakeTimeout || c.Logs.MaxFileSize<<20 < 0 ||
			c.Command == "" || c.PidsLimit < 1 || sleeps && c.Listen == "" || c.WakeTimeout <= 0 ||
			c.FreezeAfter > 0 && c.ParkAfter > 0 && c.ParkAfter <= c.FreezeAfter {
			t.Errorf("%q is taken for good: %+v", data, c)
		}
		if err := c.Probe.Validate(); err != nil {
			t.Errorf("%q gives a probe that is not valid: %v", data, err)
		}
	})
}
