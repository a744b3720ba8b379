package devnomad

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// Cluster is a running one-node Nomad.
type Cluster struct {
	cfg    Config
	log    *slog.Logger
	faults *Faults
	dir    string
	ownDir bool
	host   string

	node      *node
	store     *store
	scheduler *scheduler
	client    *client
	procs     *processes // nil: Config.Runner runs the tasks
	door      *door
	server    *http.Server
	transport *http.Transport // of our own clients

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	closing   bool
	watched   map[string]bool // deployments that have a supervisor
	collected time.Time       // when garbage was last collected
}

// Start makes a cluster that answers at once. Close ends it.
func Start(cfg Config) (*Cluster, error) {
	cfg = cfg.withDefaults()
	c := &Cluster{
		cfg: cfg, log: cfg.Log, faults: cfg.Faults, dir: cfg.DataDir,
		watched: map[string]bool{}, collected: time.Now(),
	}
	if err := c.makeDir(); err != nil {
		return nil, err
	}
	var err error
	if c.door, err = newDoor(cfg.Listener); err != nil {
		return nil, errors.Join(err, c.removeDir())
	}
	c.host = c.door.Addr().String()
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.node = newNode(cfg)
	c.store = newStore(c.now)
	c.store.node = c.node
	c.scheduler = newScheduler(c)
	c.client = newClient(c)
	if cfg.Runner == nil {
		c.procs = newProcesses(c.ctx, c.spawn, c.tempDir())
	}
	if cfg.ACLToken != "" {
		c.store.bootstrap(cfg.ACLToken)
	}
	c.transport = &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}
	if d, ok := cfg.Listener.(Dialer); ok {
		c.transport.DialContext = d.DialContext
	}
	c.faults.attach(c)
	c.serve()
	return c, nil
}

func (c *Cluster) makeDir() error {
	if c.dir != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "devnomad-")
	if err != nil {
		return fmt.Errorf("cannot make a data directory: %w", err)
	}
	c.dir, c.ownDir = dir, true
	return nil
}

// tempDir is the data directory where it is the cluster's own; else "".
func (c *Cluster) tempDir() string {
	if !c.ownDir {
		return ""
	}
	return c.dir
}

func (c *Cluster) removeDir() error {
	if !c.ownDir {
		return nil
	}
	return os.RemoveAll(c.dir)
}

func (c *Cluster) serve() {
	c.server = &http.Server{
		Handler:  c.admit(c.routes()),
		ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
	c.spawn(func() {
		err := c.server.Serve(c.door)
		if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			c.log.Error("API ended", "error", err)
		}
	})
}

// admit counts requests, so that Close can wait for them.
func (c *Cluster) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		if c.closing {
			c.mu.Unlock()
			c.refuse(w, r, errNoLeader)
			return
		}
		c.wg.Add(1)
		c.mu.Unlock()
		defer c.wg.Done()
		next.ServeHTTP(w, r)
	})
}

// Addr is the API's base URL, like http://127.0.0.1:34567.
func (c *Cluster) Addr() string { return "http://" + c.host }

// Faults tells the cluster to misbehave.
func (c *Cluster) Faults() *Faults { return c.faults }

// NodeID is the ID of the only node.
func (c *Cluster) NodeID() string { return c.node.id }

// HTTPClient reaches the API, also where its Listener is a Dialer and not on the
// network. It is good until Close.
func (c *Cluster) HTTPClient() *http.Client { return &http.Client{Transport: c.transport} }

// Client returns an API client with the management token, if ACLs are on.
func (c *Cluster) Client() *nomad.Client {
	cl, err := nomad.NewClient(&nomad.Config{
		Address: c.Addr(), SecretID: c.cfg.ACLToken, HttpClient: c.HTTPClient(), Region: c.cfg.Region,
	})
	if err != nil {
		// Our own address always parses.
		panic(fmt.Sprintf("devnomad: cannot make a client for %s: %v", c.Addr(), err))
	}
	return cl
}

// Close ends the API and every task, by force, and waits for all of it.
func (c *Cluster) Close() error {
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		return nil
	}
	c.closing = true
	c.mu.Unlock()

	c.cancel()
	errs := []error{c.server.Close()}
	c.wg.Wait()
	if c.procs != nil {
		errs = append(errs, c.procs.watchdog.end())
	}
	c.transport.CloseIdleConnections()
	c.faults.attach(nil)
	return errors.Join(append(errs, c.removeDir())...)
}

// spawn runs f in a goroutine that Close waits for. It is only called by what
// Close waits for as well, so that none can begin afterwards.
func (c *Cluster) spawn(f func()) { c.wg.Go(f) }

// now is the cluster's wall clock.
func (c *Cluster) now() time.Time { return time.Now().Add(c.faults.clockStep()) }

// runner finds who runs the tasks of a driver; nil: nobody.
func (c *Cluster) runner(driver string) Runner {
	if r := c.cfg.Drivers[driver]; r != nil {
		return r
	}
	if c.cfg.Runner != nil {
		return c.cfg.Runner
	}
	return c.procs
}
