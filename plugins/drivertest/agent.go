package drivertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
	"doze/plugins/host"
)

// patience is how long anything may take that an agent waits for.
const patience = 20 * time.Second

// Config is a plugin to be used by an Agent.
type Config struct {
	Command host.Command
	// Plugin is the `config` block of the agent's `plugin "…"` block; nil: none.
	Plugin map[string]any
}

// Agent is a node that uses one driver. It has the methods of the plugin, in the
// process that it currently uses, and remembers the tasks it has started.
type Agent struct {
	*host.Plugin
	Info base.Info

	t       *testing.T
	cfg     Config
	schema  hclspec.Spec // of tasks
	streams context.CancelFunc
	ended   sync.WaitGroup
	record
}

// record is what an agent has heard, and what it stores.
type record struct {
	mu           sync.Mutex
	handles      map[string]drivers.Handle
	fingerprints []drivers.Fingerprint
	events       []drivers.Event
	news         chan struct{} // closed and replaced at every event and fingerprint
	streamErrs   []error
}

// Boot starts an agent with the plugin: it asks for its name in one process, lets a
// second check the configuration, and uses a third. The plugin is ended with the
// test.
func Boot(t *testing.T, cfg Config) *Agent {
	t.Helper()
	a := &Agent{t: t, cfg: cfg}
	if cfg.Command.Log == nil {
		a.cfg.Command.Log = newDiary(t).logger()
	}
	a.handles, a.news = map[string]drivers.Handle{}, make(chan struct{})
	raw := a.ask()
	a.check(raw)
	a.use(raw)
	t.Cleanup(a.end)
	return a
}

// ask is the first process: who are you, and which configuration do you take?
func (a *Agent) ask() (raw []byte) {
	a.t.Helper()
	p := a.launch()
	defer p.Kill()
	info, err := p.Info(a.t.Context())
	a.must("ask for the plugin's info", err)
	a.Info = info
	schema, err := p.ConfigSchema(a.t.Context())
	a.must("ask for the plugin's schema", err)
	if schema == nil {
		return nil
	}
	raw, err = host.EncodeConfig(schema, a.cfg.Plugin, nil)
	a.must("encode the plugin's configuration", err)
	return raw
}

// check is the second process: would you take this configuration?
func (a *Agent) check(raw []byte) {
	a.t.Helper()
	p := a.launch()
	defer p.Kill()
	for range 2 {
		err := p.SetConfig(a.t.Context(), base.Config{Raw: raw})
		a.must("let the configuration be checked", err)
	}
}

// use is the third process.
func (a *Agent) use(raw []byte) {
	a.t.Helper()
	ctx := a.t.Context()
	a.Plugin = a.launch()
	a.must("configure the plugin", a.SetConfig(ctx, base.Config{Raw: raw,
		Agent: &base.Agent{MinPort: 14000, MaxPort: 14512}}))
	schema, err := a.TaskSchema(ctx)
	a.must("ask for the tasks' schema", err)
	a.schema = schema
	a.follow()
}

// follow opens what an agent opens whenever it gets hold of the plugin.
func (a *Agent) follow() {
	a.t.Helper()
	a.must("initialize the plugin", a.Init(a.t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	a.streams = cancel
	p, before := a.Plugin, len(a.Fingerprints())
	a.ended.Go(func() { a.streamEnded(ctx, "fingerprint", p.Fingerprint(ctx, a.fingerprinted)) })
	a.ended.Go(func() { a.streamEnded(ctx, "event", p.Events(ctx, a.heard)) })
	a.Await("a fingerprint", func() bool { return len(a.Fingerprints()) > before })
}

func (a *Agent) streamEnded(ctx context.Context, which string, err error) {
	if ctx.Err() != nil || errors.Is(err, host.ErrExited) {
		return
	}
	if err == nil {
		err = errors.New("the plugin has ended its " + which + " stream, which is for life")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.streamErrs = append(a.streamErrs, err)
}

func (a *Agent) launch() *host.Plugin {
	a.t.Helper()
	cmd := a.cfg.Command
	// A binary with the race detector would sleep for a second at every exit.
	cmd.Env = append([]string{"GORACE=atexit_sleep_ms=0"}, cmd.Env...)
	p, err := host.Launch(cmd)
	a.must("start the plugin", err)
	return p
}

func (a *Agent) must(what string, err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatalf("cannot %s: %v", what, err)
	}
}

// unfollow closes the streams and reports what had gone wrong with them.
func (a *Agent) unfollow() {
	a.t.Helper()
	a.streams()
	a.ended.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, err := range a.streamErrs {
		a.t.Errorf("a stream broke: %v", err)
	}
	a.streamErrs = nil
}

func (a *Agent) end() {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for id := range a.Handles() {
		_ = a.Destroy(ctx, id, true) // an agent does not look at it either
	}
	a.unfollow()
	a.Kill()
}
