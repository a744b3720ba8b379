// Package realnomad starts a real Nomad agent for tests: one node that is server
// and client, on free loopback ports, with a data directory of its own and raw_exec
// on. Its program is the nomad on PATH, or the one that the variable REALNOMAD_BIN
// names: `make e2e NOMAD=/path/to/nomad` runs the tests on another release. Whoever
// asks for a program gets it or an error, never ErrNotFound.
//
// It decides nothing about what is tested. It ends whatever it has started, and
// what an earlier run that was killed has left behind. It never touches another
// agent on the machine.
package realnomad

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// errNotThere says that the API has no such path.
var errNotThere = errors.New("the agent has no such path")

// programVar names the program to run instead of the nomad on PATH.
const programVar = "REALNOMAD_BIN"

// ErrNotFound says that there is no nomad on PATH, and that no other was asked for.
var ErrNotFound = errors.New("nomad is not on PATH")

// bootLimit is how long an agent may take until its node is ready.
const bootLimit = 60 * time.Second

// Config says which agent to start. The zero value is one without ACLs.
type Config struct {
	ACL       bool   // on, with a management token in Agent.Token
	PluginDir string // "": none
	Extra     string // more configuration, in HCL
}

// Agent is a real agent. Its data outlives the agent's process until Close.
type Agent struct {
	Token string // the management token; "": ACLs are off
	Dir   string // configuration, data and the agent's log
	cfg   Config
	addr  string
	mark  string // in the environment of everything it starts
	path  string // of the program
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
	ports net.Listener  // claims its tasks' ports
	log   *os.File      // nil: it has not been started, or was ended
}

// Start starts an agent and waits until its node is ready.
func Start(cfg Config) (*Agent, error) {
	path, err := Program()
	if err != nil {
		return nil, err
	}
	sweepAbandoned()
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for the agent: %w", err)
	}
	a := &Agent{Dir: dir, cfg: cfg, mark: newMark(), path: path}
	if err := a.prepare(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := errors.Join(a.seed(), a.Launch()); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if cfg.ACL {
		if err := a.bootstrap(); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	if err := a.awaitNode(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Program is the path of Nomad's program: the one that REALNOMAD_BIN names, or the one on PATH;
// ErrNotFound where there is neither.
func Program() (string, error) {
	if asked := os.Getenv(programVar); asked != "" {
		path, err := exec.LookPath(asked)
		if err != nil {
			return "", fmt.Errorf("cannot run the Nomad that %s asks for: %w", programVar, err)
		}
		return path, nil
	}
	path, err := exec.LookPath("nomad")
	if err != nil {
		return "", ErrNotFound
	}
	return path, nil
}

// prepare writes the configuration.
func (a *Agent) prepare() error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	a.addr = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	plugins := filepath.Join(a.Dir, "plugins")
	if a.cfg.PluginDir != "" {
		plugins = a.cfg.PluginDir
	}
	conf := fmt.Sprintf(`
data_dir             = %q
plugin_dir           = %q
name                 = "realnomad"
bind_addr            = "127.0.0.1"
disable_update_check = true
enable_debug         = false
ports     { http = %d  rpc = %d  serf = %d }
advertise { http = "127.0.0.1"  rpc = "127.0.0.1"  serf = "127.0.0.1" }
server    { enabled = true  bootstrap_expect = 1 }
ui        { enabled = false }
limits    { http_max_conns_per_client = 0 }
acl       { enabled = %t }
plugin "raw_exec" { config { enabled = true } }
%s
`, filepath.Join(a.Dir, "data"), plugins, ports[0], ports[1], ports[2], a.cfg.ACL, a.cfg.Extra)
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		return fmt.Errorf("cannot make the plugin directory: %w", err)
	}
	if a.ports, err = holdPorts(); err != nil {
		return err
	}
	held := a.ports.Addr().(*net.TCPAddr).Port
	// Many tests have one agent: nothing of theirs goes before they have looked at it, and what
	// they leave goes side by side.
	client := fmt.Sprintf(`
client {
  enabled              = true
  network_interface    = "lo"
  min_dynamic_port     = %d
  max_dynamic_port     = %d
  gc_max_allocs        = 500
  gc_parallel_destroys = 16
}
`, held+1, held+portsOfTasks-1)
	for name, text := range map[string]string{"agent.hcl": conf, "client.hcl": client} {
		if err := os.WriteFile(filepath.Join(a.Dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("cannot write the agent's configuration: %w", err)
		}
	}
	return nil
}

// Log is the path of the agent's log.
func (a *Agent) Log() string { return filepath.Join(a.Dir, "agent.log") }

// seed lets a server without a client make the cluster's state, keys and all. A
// client that comes before the keys is refused, and tries again half a minute
// later.
func (a *Agent) seed() error {
	if err := a.launch("agent.hcl"); err != nil {
		return err
	}
	err := a.await("the cluster's keys", func(ctx context.Context) error {
		body, err := a.get(ctx, "/.well-known/jwks.json")
		if errors.Is(err, errNotThere) {
			return nil // Nomad before 1.7 does not publish them
		}
		if err == nil && !bytes.Contains(body, []byte(`"kid"`)) {
			err = errors.New("there are none yet")
		}
		return err
	})
	return errors.Join(err, a.End(syscall.SIGKILL))
}

// Launch starts the agent's process: at first, and again after End. It returns
// when the API answers.
func (a *Agent) Launch() error { return a.launch("agent.hcl", "client.hcl") }

func (a *Agent) launch(configs ...string) error {
	log, err := os.OpenFile(a.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open the agent's log: %w", err)
	}
	args := []string{"agent"}
	for _, c := range configs {
		args = append(args, "-config", filepath.Join(a.Dir, c))
	}
	cmd := exec.Command(a.path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(slices.DeleteFunc(os.Environ(), unwanted), markVar+"="+a.mark)
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("cannot start nomad: %w", err), log.Close())
	}
	a.cmd, a.log, a.ended = cmd, log, make(chan struct{})
	go func(ended chan struct{}) { // until the process ends
		_ = cmd.Wait() // how it ended, whoever asks sees in cmd
		close(ended)
	}(a.ended)
	return a.await("the agent's API", func(ctx context.Context) error {
		leader, err := a.get(ctx, "/v1/status/leader")
		if err == nil && len(leader) <= len(`""`) {
			err = errors.New("there is no leader yet")
		}
		return err
	})
}

// get reads a path of the API that needs no token.
func (a *Agent) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.addr+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
	case resp.StatusCode == http.StatusNotFound:
		err = errNotThere
	case resp.StatusCode != http.StatusOK:
		err = errors.New(resp.Status)
	}
	return body, err
}

// unwanted variables would change the agent: its AWS fingerprint fails with a
// CA bundle in the environment.
func unwanted(kv string) bool {
	return strings.HasPrefix(kv, "AWS_CA_BUNDLE=") || strings.HasPrefix(kv, "NOMAD_")
}

func (a *Agent) bootstrap() error {
	return a.await("ACLs", func(ctx context.Context) error {
		t, _, err := a.Client().ACLTokens().Bootstrap((&nomad.WriteOptions{}).WithContext(ctx))
		if err == nil {
			a.Token = t.SecretID
		}
		return err
	})
}

func (a *Agent) awaitNode() error {
	return a.await("the node", func(ctx context.Context) error {
		nodes, _, err := a.Client().Nodes().List((&nomad.QueryOptions{}).WithContext(ctx))
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if n.Status == "ready" && n.Drivers["raw_exec"] != nil && n.Drivers["raw_exec"].Healthy {
				return nil
			}
		}
		return errors.New("it is not ready")
	})
}

// await tries f until it succeeds, and says what the last problem was.
func (a *Agent) await(what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), bootLimit)
	defer cancel()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot wait for %s any longer (see %s): %w", what, a.Log(), err)
		case <-a.ended:
			return fmt.Errorf("cannot wait for %s: %w", what, a.endedByItself())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// lastWords are the last line of the agent's log.
func (a *Agent) lastWords() string {
	text, err := os.ReadFile(a.Log())
	if err != nil {
		return err.Error()
	}
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

// Addr is the base URL of the agent's API.
func (a *Agent) Addr() string { return a.addr }

// Client returns an API client with the management token, if ACLs are on.
func (a *Agent) Client() *nomad.Client {
	c, err := nomad.NewClient(&nomad.Config{Address: a.addr, SecretID: a.Token})
	if err != nil {
		// Our own address always parses.
		panic(fmt.Sprintf("realnomad: cannot make a client for %s: %v", a.addr, err))
	}
	return c
}

// portsOfTasks is the size of a range: the ports for tasks, and the one that is held.
const portsOfTasks = 500

// holdPorts claims a range of ports that an agent gives to its tasks, since no agent looks
// whether a port is free. The first of them is held as long as the agent is there, which
// keeps the agents of other test processes away. The embedded cluster keeps to lower ones.
func holdPorts() (first net.Listener, err error) {
	const from, ranges = 26_000, 12 // Nomad's own are 20000 to 32000
	for i := range ranges {
		port := from + portsOfTasks*((os.Getpid()+i)%ranges)
		if first, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return first, nil
		}
	}
	return nil, fmt.Errorf("cannot claim ports for tasks: %w", err)
}

// freePorts finds ports of 127.0.0.1 that nobody listens on.
func freePorts(n int) ([]int, error) {
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("cannot find a free port: %w", err)
		}
		defer l.Close()
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out, nil
}
