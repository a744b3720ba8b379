package shepherd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"doze/driver/shepherd/cgroup"
	"doze/healthgate"
	"doze/idle"
)

const (
	defaultWakeTimeout = 60 * time.Second
	defaultStopTimeout = 5 * time.Second
)

// task is the application under the shepherd: its process, how deep it sleeps, and its end.
//
// The loop of package idle decides when; Wake and Sleep, which it calls, and stop are the
// only ones that change the process, one at a time (ops).
type task struct {
	spec    Spec
	spawner *spawner
	cgroups *cgroup.Group
	port    port
	logs    [2]*os.File   // what the application writes to
	files   *logCollector // reads them; nil: somebody else does
	journal *journal
	log     *slog.Logger
	loop    *idle.Loop
	group   *idle.Group

	ops       chan struct{} // holds one token while nothing changes the process
	readyOnce atomic.Bool
	parkInUse atomic.Bool  // a command: park although connections are open
	guests    atomic.Int64 // commands and signals under way; see enter
	putOff    atomic.Bool  // the last Sleep has only put it off
	stopping  atomic.Bool  // it ends because it was told to
	hits      limitHits

	mu      sync.Mutex
	app     *application // nil: parked, or it has ended
	depth   idle.Depth   // of the process, not of the plan
	exit    *Exit
	changed chan struct{} // closed and made anew when anything of the above changes

	lean     *lean
	ended    chan struct{} // closed when exit is set
	watchers sync.WaitGroup
}

// application is one life of the application's process.
type application struct {
	*process
	port    int // what it was told to listen on
	addr    string
	started time.Time
	ooms    uint64 // of the cgroup, at its start
	told    toldSignals
	parking bool // its end is no exit; guarded by task.mu
}

func (t *task) lock(ctx context.Context) error {
	select {
	case <-t.ops:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *task) unlock() { t.ops <- struct{}{} }

// change changes what mu guards and tells those who wait for a change.
func (t *task) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// look returns the process and its depth, and a channel that is closed when they change.
func (t *task) look() (*application, idle.Depth, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.app, t.depth, t.changed
}

// Wake implements idle.Workload: it thaws or starts the application.
func (t *task) Wake(ctx context.Context, _ healthgate.Generation) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
	app, err := t.up()
	if err != nil {
		return err
	}
	t.group.SetTargets([]healthgate.Target{{ID: t.spec.TaskID, Addr: app.addr}})
	return nil
}

// up has the application's process run. The caller holds ops.
func (t *task) up() (*application, error) {
	app, depth, _ := t.look()
	switch {
	case t.hasEnded():
		return nil, ErrExited
	case app == nil:
		return t.start()
	case depth == idle.Awake:
		return app, nil
	}
	err := t.port.awake()
	if err == nil {
		err = t.thaw()
	}
	if err != nil {
		return nil, errors.Join(err, t.port.asleep())
	}
	t.change(func() { t.depth = idle.Awake })
	return app, nil
}

func (t *task) thaw() error {
	if err := t.cgroups.Thaw(); err != nil {
		return fmt.Errorf("cannot thaw: %w", err)
	}
	return nil
}

// start starts the application. Where it can't be, the port goes on to watch for who could
// have it tried again. The caller holds ops.
func (t *task) start() (*application, error) {
	app, err := t.startAwake()
	if err != nil {
		return nil, errors.Join(err, t.port.asleep())
	}
	return app, nil
}

func (t *task) startAwake() (*application, error) {
	if err := t.port.awake(); err != nil {
		return nil, err
	}
	if err := makeBlock(t.logs); err != nil {
		return nil, err
	}
	c, app, err := t.prepare()
	if err != nil {
		return nil, err
	}
	app.ooms = t.cgroups.OOMKills()
	c.stays = true
	if app.process, err = t.spawn(c); err != nil {
		return nil, err
	}
	app.started = time.Now()
	t.change(func() { t.app, t.depth = app, idle.Awake })
	t.watchers.Go(func() { t.watch(app) })
	program := c.path
	if t.spec.Activation == Socket {
		program = t.spec.Command // and not the shell that becomes it
	}
	t.journal.add(app.started, Event{Kind: EventStarted, Message: "started " + program})
	return app, nil
}

// watch waits for the process's end.
func (t *task) watch(app *application) {
	<-app.ended
	t.mu.Lock()
	parked := app.parking
	t.mu.Unlock()
	if parked {
		return // park is waiting for it too, and says so
	}
	t.finish(t.exitOf(app))
}

// shellSignal is what a shell adds to the signal that has ended its command.
const shellSignal = 128

func (t *task) exitOf(app *application) Exit {
	e := Exit{At: time.Now()}
	if app.state.Signaled() {
		e.Signal = int(app.state.Signal())
	} else {
		e.Code = app.state.ExitStatus()
	}
	killed := e.Signal == int(syscall.SIGKILL) || e.Code == shellSignal+int(syscall.SIGKILL)
	e.OOMKilled = killed && t.cgroups.OOMKills() > app.ooms
	e.Note = t.noteOf(e)
	return e
}

// finish makes the end of the task known, once: what it left behind is killed, its port is
// closed, whoever waits for it to wake is let go.
func (t *task) finish(e Exit) {
	first := false
	var group *idle.Group // nil: it has ended before it was under anybody's care
	t.change(func() {
		if first = t.exit == nil; first {
			t.app, t.exit = nil, &e
		}
		group = t.group
	})
	if !first {
		return
	}
	t.tellLimits()
	t.tellLeftBehind(e)
	if err := t.spawner.killed(); err != nil {
		t.log.Warn("cannot kill what the task has left behind", "err", err)
	}
	if t.files != nil {
		t.files.drain()
	}
	t.log.Info("task has ended", "how", e.String())
	t.journal.add(e.At, Event{Kind: EventExited, Message: e.String()})
	if group != nil {
		t.loop.Remove(group.ID())
	}
	t.port.close()
	close(t.ended)
}

func (t *task) hasEnded() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// errNotReady keeps what has never been ready from being frozen.
var errNotReady = errors.New("it has not been ready yet")
