//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/realnomad"
)

// driven is a real Nomad agent with the driver.
type driven struct {
	*cluster
	t      testing.TB
	plugin string // the program in the plugin directory
	state  string // the plugin's state_dir
	app    string // the application of every task: a copy that the user nobody may run
}

// in is the same agent for another test.
func (d *driven) in(t testing.TB) *driven {
	other := *d
	other.t = t
	return &other
}

// promise is what is tested of an agent's driver.
type promise struct {
	name string
	test func(*testing.T, *driven)
}

// The driver's promises that need no crash, on one real agent. Most of them mostly wait.
func TestDriver_onARealAgent(t *testing.T) {
	d := startDriven(t)
	one := func(p promise) { t.Run(p.name, func(t *testing.T) { p.test(t, d.in(t)) }) }
	one(promise{"its port is open sooner than under raw_exec", testPortOpen})
	one(promise{"a thaw is soon", testThaws})
	one(promise{"its limits are raw_exec's", testLimits})
	one(promise{"side by side", func(t *testing.T, d *driven) {
		for _, p := range []promise{
			{"a task's life is like any other's", testLife},
			{"its processor time is told", testCPUUsage},
			{"it sleeps in place and a connection wakes it", testSleep},
			{"it may hold its socket itself", testSocket},
			{"whatever goes wrong is a task event", testFailures},
			{"field case 28", testFieldCase28},
			{"checks of a shielded path let it sleep", testChecks},
			{"it sleeps through updates", testUpdate},
			{"its shepherd writes its logs", testOwnLogs},
			{"its documentation's tasks run", testDocs},
			{"doze serve scales what sleeps in place", testServe},
			{"doze tasks tells and orders about", testTasksVerb},
			{"its shepherd is small", testMemory},
		} {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.test(t, d.in(t))
			})
		}
	}})
	one(promise{"nothing of it is left", testNothingLeft})
	one(promise{"a full state_dir is a task event", testFullStateDir})
}

// startDriven starts an agent of its own, since the tests kill it, with more configuration
// where a test wants it.
func startDriven(t testing.TB, extra ...string) *driven {
	t.Helper()
	return startDrivenWith(t, "", extra...)
}

// startDrivenWith is startDriven with more in the driver's own config block.
func startDrivenWith(t testing.TB, config string, extra ...string) *driven {
	t.Helper()
	return startInstalled(t, func(dir string) (state, block string) {
		state = filepath.Join(dir, "run")
		return state, pluginBlock(state, config) + strings.Join(extra, "\n")
	})
}

// startInstalled starts an agent of its own. Told the test's directory, configure says where
// the driver's state directory is, and what else the agent's configuration has.
func startInstalled(t testing.TB, configure func(dir string) (state, config string)) *driven {
	t.Helper()
	dir, err := os.MkdirTemp("", "doze-e2e-driver-")
	fail(t, err)
	fail(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { fail(t, os.RemoveAll(dir)) })
	plugins := filepath.Join(dir, "plugins")
	fail(t, os.Mkdir(plugins, 0o755))
	plugin := filepath.Join(plugins, "doze")
	copyProgram(t, binary, plugin)
	self, err := os.Executable()
	fail(t, err)
	copyProgram(t, self, filepath.Join(dir, "app"))
	state, config := configure(dir)
	agent, err := realnomad.Start(realnomad.Config{PluginDir: plugins,
		Extra: "telemetry { publish_allocation_metrics = true }\n" + config})
	if errors.Is(err, realnomad.ErrNotFound) {
		t.Skip("SKIP: nomad is not on PATH; the driver was not tried on a real agent")
	}
	fail(t, err)
	t.Cleanup(func() { fail(t, agent.Close()) })
	fail(t, os.Chmod(agent.Dir, 0o711)) // the tasks run as nobody
	d := &driven{t: t, plugin: plugin, state: state, app: filepath.Join(dir, "app"),
		cluster: &cluster{real: true, addr: agent.Addr(), namespace: "default",
			client: agent.Client(), agent: agent}}
	t.Cleanup(d.purgeAll)
	d.awaitDriver()
	t.Logf("on Nomad %s", d.node().Attributes["nomad.version"])
	return d
}

// pluginBlock is the agent's configuration for the driver.
func pluginBlock(state, more string) string {
	return fmt.Sprintf("plugin \"doze\" {\n config {\n state_dir = %q\n%s\n }\n}\n", state, more)
}

// awaitDriver waits until jobs can use the driver.
func (d *driven) awaitDriver() {
	d.t.Helper()
	d.await("the driver to be healthy", func() error {
		node := d.node()
		if info := node.Drivers["doze"]; info == nil || !info.Healthy {
			return fmt.Errorf("it is %+v", info)
		}
		return nil
	})
}

func copyProgram(t testing.TB, from, to string) {
	t.Helper()
	src, err := os.Open(from)
	fail(t, err)
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	fail(t, err)
	_, err = io.Copy(dst, src)
	fail(t, errors.Join(err, dst.Close()))
}

// node is the agent's one node.
func (d *driven) node() *nomad.Node {
	d.t.Helper()
	stubs, _, err := d.client.Nodes().List(nil)
	fail(d.t, err)
	if len(stubs) == 0 {
		return &nomad.Node{}
	}
	node, _, err := d.client.Nodes().Info(stubs[0].ID, nil)
	fail(d.t, err)
	return node
}

// await tries f for a while, and fails with what it said last. An agent that was ended takes
// up to half a minute until it has registered its node again and tells what has happened.
func (d *driven) await(what string, f func() error) {
	d.t.Helper()
	d.awaitFor(time.Minute, what, f)
}

func (d *driven) awaitFor(within time.Duration, what string, f func() error) {
	d.t.Helper()
	var err error
	for deadline := time.Now().Add(within); time.Now().Before(deadline); {
		if err = f(); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	d.t.Fatalf("waited too long for %s: %v", what, err)
}
