package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

const defaultReconcile = 5 * time.Minute

// errStarting is Current's answer before the first complete listing.
var errStarting = errors.New("not everything in Nomad has been listed yet")

// errUnmanaged: the group is not, or no longer, one that Doze manages.
var errUnmanaged = errors.New("the group is not managed")

// errEnded: Watcher.Run has ended.
var errEnded = errors.New("the watcher has ended")

// Config is a Watcher's.
type Config struct {
	Client     *nomad.Client // required
	Namespaces []string      // nil: every one that the token may read
	// ReconcileEvery is how often everything is listed although the event stream lives;
	// default 5m.
	ReconcileEvery time.Duration
	Log            *slog.Logger // nil discards
}

// Watcher finds the groups that opted in, follows them, and tells a Sink. It is also what
// their workloads and leases go through.
type Watcher struct {
	client     client
	namespaces []string
	reconcile  time.Duration
	log        *slog.Logger

	narrow bool // owned by follow: the token may not follow every namespace at once

	catalog *catalog            // owned by Run
	inbox   chan func(*catalog) // what others want done with it
	ended   chan struct{}       // closed when Run has ended
	lock    sync.Mutex          // guards trouble
	trouble error               // Current's answer
}

// NewWatcher returns a Watcher; it does nothing before Run.
func NewWatcher(cfg Config, sink Sink) (*Watcher, error) {
	if cfg.Client == nil {
		return nil, errors.New("cannot watch Nomad: Config.Client is missing")
	}
	if sink == nil {
		return nil, errors.New("cannot watch Nomad: the sink is missing")
	}
	if cfg.ReconcileEvery <= 0 {
		cfg.ReconcileEvery = defaultReconcile
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	w := &Watcher{
		client: client{cfg.Client}, namespaces: cfg.Namespaces,
		reconcile: cfg.ReconcileEvery, log: cfg.Log,
		inbox: make(chan func(*catalog)), ended: make(chan struct{}), trouble: errStarting,
	}
	w.catalog = newCatalog(w, sink)
	return w, nil
}

// Run follows Nomad until ctx ends, and returns nil then. It never gives up before: when
// Nomad is away it asks again with growing pauses. It must run, once, for Wake and Sleep to
// work.
func (w *Watcher) Run(ctx context.Context) error {
	defer close(w.ended)
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { w.follow(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case act := <-w.inbox:
			act(w.catalog)
		}
	}
}

// Current returns nil while Nomad has been listed completely and the event stream lives,
// otherwise what is wrong.
func (w *Watcher) Current() error {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.trouble
}

// become sets Current's answer and logs when it turns.
func (w *Watcher) become(trouble error) {
	w.lock.Lock()
	was := w.trouble
	w.trouble = trouble
	w.lock.Unlock()
	switch {
	case trouble == nil && was != nil:
		w.log.Info("following Nomad", "address", w.client.api.Address())
	case trouble != nil && (was == nil || was == errStarting):
		w.log.Warn("cannot follow Nomad, trying again", "error", trouble)
	}
}

// do has act done by the owner of the catalog and waits for it.
func (w *Watcher) do(ctx context.Context, act func(*catalog)) error {
	done := make(chan struct{})
	todo := func(c *catalog) { defer close(done); act(c) }
	select {
	case w.inbox <- todo:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.ended:
		return errEnded
	}
	<-done // the owner has taken it and does not block
	return nil
}

// doGroup is do for one group; errUnmanaged when there is none.
func (w *Watcher) doGroup(ctx context.Context, id idle.GroupID,
	act func(*group, Sink)) error {
	missing := false
	err := w.do(ctx, func(c *catalog) {
		if g := c.group(id); g != nil {
			act(g, c.sink)
		} else {
			missing = true
		}
	})
	if err == nil && missing {
		return errUnmanaged
	}
	return err
}
