package plugins_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"doze/plugins"
	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/host"
)

// agentVar makes the test binary an agent that starts a plugin, tells where it is,
// and waits to be killed.
const agentVar = "PLUGINS_TEST_AGENT"

func beAgent() int {
	path, err := os.Executable()
	if err != nil {
		return 1
	}
	p, err := host.Launch(host.Command{Path: path})
	if err != nil {
		return 1
	}
	if err := p.SetConfig(context.Background(), base.Config{Agent: &base.Agent{}}); err != nil {
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(p.Attachment()); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent ends
	p.Kill()
	return 0
}

func self(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// The plugin's stderr is a pipe to the agent: without its guard the first line after
// the agent's death would end the plugin, and with it every reattachment.
func TestProcess_agentKilled_pluginSurvivesItsNextLogLines(t *testing.T) {
	agent := self(t, agentVar+"=1", driverVar+"=probe")
	out, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	var at host.Attachment
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		t.Fatal(err)
	}
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait() // it was killed

	p, err := host.Reattach(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if err := p.Signal(t.Context(), "x", "log"); err != nil {
		t.Fatalf("while it was logging the plugin returned %v", err)
	}
	if err := p.Init(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, err := p.Start(t.Context(), drivers.TaskConfig{ID: "a/b/c"}); err != nil {
		t.Errorf("a plugin found again, without SetConfig, returned %v", err)
	}
}

func TestProcess_firstLineOfStdout_isTheHandshake(t *testing.T) {
	cmd := self(t, base.CookieKey+"="+base.CookieValue, driverVar+"=probe",
		"PLUGIN_PROTOCOL_VERSIONS=2", "PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(line, "1|2|unix|") || !strings.HasSuffix(line, "|grpc|\n") {
		t.Errorf("the first line is %q", line)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if !strings.Contains(stderr.String(), "a constructor that prints to stdout") {
		t.Errorf("what the constructor printed is not on stderr: %q", stderr.String())
	}
	if !strings.Contains(stderr.String(), `"@level":"debug"`) {
		t.Errorf("stderr is not what agents read: %q", stderr.String())
	}
}

func TestServe_driverThatNoAgentWouldTake_saysEveryProblemAndNoHandshake(t *testing.T) {
	refused(t, []string{`"a b"`, `"dev"`, `a (fallback)`, `String("hello")`}, driverVar+"=unnamed")
	refused(t, []string{"the tasks' schema: it is nil"}, driverVar+"=shapeless")
}

func TestServe_nowhereToListen_saysWhyAndFails(t *testing.T) {
	refused(t, []string{"no such file", "cannot serve"}, "TMPDIR=/no/such/directory")
}

// refused starts a plugin that says why it does not serve, and never where it does.
func refused(t *testing.T, why []string, env ...string) {
	t.Helper()
	cmd := self(t, append(env, base.CookieKey+"="+base.CookieValue)...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range why {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("nothing is said of %s: %q", want, stderr.String())
		}
	}
	if stdout.Len() != 0 {
		t.Errorf("stdout has %q", stdout.String())
	}
}

func TestServe_notStartedByAnAgent_returnsWhy(t *testing.T) {
	if err := plugins.Serve(testDriver); !errors.Is(err, plugins.ErrNotLaunched) {
		t.Errorf("Serve returned %v", err)
	}
}

func TestHost_pluginDiesDuringACall_isToldAsItsExit(t *testing.T) {
	p := serving(t, "probe")
	waited := make(chan error, 1)
	go func() {
		_, err := p.Wait(t.Context(), "forever")
		waited <- err
	}()
	if err := p.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; !errors.Is(err, host.ErrExited) {
		t.Errorf("Wait returned %v", err)
	}
	if err := p.Crash(); err != nil {
		t.Errorf("a second Crash returned %v", err)
	}
}

func TestHost_noPlugin_isAnError(t *testing.T) {
	if _, err := host.Launch(host.Command{Path: "/no/such/plugin"}); err == nil {
		t.Error("Launch of nothing had no error")
	}
	at := host.Attachment{Network: "unix", Address: t.TempDir() + "/none", PID: 1 << 30}
	if _, err := host.Reattach(at, nil); err == nil {
		t.Errorf("Reattach to %+v had no error", at)
	}
}
