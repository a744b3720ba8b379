package driver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
)

// Name is what a job says in driver = "doze".
const Name = "doze"

// Config is what a Driver needs.
type Config struct {
	// Version as `doze version` prints it; what is no version, like the name of a commit,
	// becomes "0.0.0-dev+<what it is>", since an agent would not start with it.
	Version string
	// Flock launches and finds shepherds; nil: real ones.
	Flock Flock
	Log   hclog.Logger // nil: discard
}

// Driver implements drivers.Driver and everything optional but making networks. Its methods
// may be called at any time, also for tasks that it does not know.
type Driver struct {
	drivers.EventLog
	version string
	flock   Flock
	log     hclog.Logger
	tasks   *tasks

	mu    sync.RWMutex
	agent AgentConfig
	clock float64 // MHz of one core, for stats; 0: not known
}

// What Nomad asks for only where a driver has it.
var (
	_ base.Configurable   = (*Driver)(nil)
	_ drivers.Driver      = (*Driver)(nil)
	_ drivers.Initializer = (*Driver)(nil)
	_ drivers.Shutdowner  = (*Driver)(nil)
	_ drivers.Signaler    = (*Driver)(nil)
	_ drivers.Executor    = (*Driver)(nil)
	_ drivers.StatsSource = (*Driver)(nil)
	_ drivers.EventSource = (*Driver)(nil)
	_ drivers.Inspector   = (*Driver)(nil)
)

// New returns a driver. It has no side effects.
func New(cfg Config) *Driver {
	d := &Driver{
		version: pluginVersion(cfg.Version), flock: cfg.Flock, log: cfg.Log,
		tasks: newTasks(), agent: AgentConfig{Enabled: true}.withDefaults(),
	}
	if d.flock == nil {
		d.flock = shepherds{}
	}
	if d.log == nil {
		d.log = hclog.NewNullLogger()
	}
	return d
}

// Info implements base.Plugin.
func (d *Driver) Info() base.Info { return base.Info{Name: Name, Version: d.version} }

// ConfigSchema implements base.Configurable.
func (d *Driver) ConfigSchema() hclspec.Spec { return agentSchema() }

// CheckConfig implements base.Configurable.
func (d *Driver) CheckConfig(cfg base.Config) error {
	_, err := readAgentConfig(cfg)
	return err
}

// Configure implements base.Configurable: from here on the driver may touch the machine. It
// makes the directory for sockets and leaves what it finds there alone, since nothing tells
// it which tasks the agent is still going to ask for.
func (d *Driver) Configure(_ context.Context, cfg base.Config) error {
	agent, err := readAgentConfig(cfg)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agent, d.clock = agent, clockOf(cfg.Agent)
	if !agent.Enabled {
		return nil
	}
	// The fingerprint tells, and looks again, where this does not succeed.
	if err := makeStateDir(agent.StateDir); err != nil {
		d.log.Warn("cannot make the state directory yet", "error", err)
	}
	return nil
}

func readAgentConfig(cfg base.Config) (AgentConfig, error) {
	raw := rawAgent{Enabled: true}
	if err := cfg.Decode(&raw); err != nil {
		return AgentConfig{}, fmt.Errorf("cannot read the plugin's config block: %w", err)
	}
	return raw.read()
}

// makeStateDir makes the directory, for root only.
func makeStateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make state_dir: %w", err)
	}
	return nil
}

// config returns the agent's configuration as it is now.
func (d *Driver) config() AgentConfig {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.agent
}

// dirOf is the directory of a task's shepherd: the same for every process of the driver, so
// that a task can be found whose handle has been lost.
func (d *Driver) dirOf(taskID string) string {
	return filepath.Join(d.config().StateDir, shortName(taskID))
}

// TaskSchema implements drivers.Driver.
func (d *Driver) TaskSchema() hclspec.Spec { return taskSchema() }

// Capabilities implements drivers.Driver.
func (d *Driver) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{
		Filesystem: drivers.FilesystemShared,
		Networks:   []drivers.NetworkMode{drivers.NetworkHost, drivers.NetworkGroup},
		NoMounts:   true,
		// With it Nomad starts no log collector for tasks started from now on.
		NoLogCollection: d.config().Logs.on(),
	}
}

// Init implements drivers.Initializer: there is nothing to begin that Configure has not
// begun, or an earlier agent.
func (d *Driver) Init(context.Context) error { return nil }

// Shutdown implements drivers.Shutdowner: the tasks go on, this process forgets them.
func (d *Driver) Shutdown(context.Context) error {
	d.tasks.letGo()
	return nil
}
