package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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
	raw     []byte       // the plugin's config block, encoded
	schema  hclspec.Spec // of tasks
	streams context.CancelFunc
	ended   sync.WaitGroup
	record
	traces
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
// second check the configuration, and uses a third. With the test the plugin and all tasks
// are ended, and what of them is left then is an error.
func Boot(t *testing.T, cfg Config) *Agent {
	t.Helper()
	a := newAgent(t, cfg)
	a.do(a.boot()...)
	return a
}

func newAgent(t *testing.T, cfg Config) *Agent {
	t.Helper()
	a := &Agent{t: t, cfg: cfg, streams: func() {}}
	a.handles, a.news = map[string]drivers.Handle{}, make(chan struct{})
	if cfg.Command.Log == nil {
		a.cfg.Command.Log = newDiary(t).logger()
	}
	sockets, err := os.MkdirTemp("", "agent") // their paths have to be short
	a.must("make a directory for sockets", err)
	a.traces = traces{sockets: sockets, marks: marksOf(cfg)}
	mark := fmt.Sprintf("DRIVERTEST_AGENT=%016x", rand.Uint64())
	a.mark(mark)
	// A plugin with the race detector ends with the first race, and else at once.
	const race = "GORACE=halt_on_error=1 atexit_sleep_ms=0"
	a.cfg.Command.Env = append([]string{race, "TMPDIR=" + sockets, mark},
		cfg.Command.Env...)
	t.Cleanup(a.end)
	return a
}

func (a *Agent) must(what string, err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatalf("cannot %s: %v", what, err)
	}
}

// stream keeps a stream open until unfollow.
func (a *Agent) stream(ctx context.Context, which string, run func(context.Context) error) {
	a.ended.Go(func() {
		err := run(ctx)
		if ctx.Err() != nil || errors.Is(err, host.ErrExited) {
			return
		}
		if err == nil {
			err = errors.New("the plugin has ended its " + which + " stream, which is for life")
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.streamErrs = append(a.streamErrs, err)
	})
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
	if a.Plugin != nil {
		a.Kill()
	}
	a.sweep(a.t)
}
