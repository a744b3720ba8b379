package drivers

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Running is a task that runs, as the driver that has started it holds it. Its methods
// may be called concurrently.
type Running interface {
	// State is what the driver needs to find the task again, in another process: its
	// Recover gets that, and nothing else that it knew.
	State() []byte
	// Wait returns how the task has ended, when it has. It is called once.
	Wait() ExitResult
	// Stop asks the task to end, by the signal that its job names, or "": by the
	// driver's choice. It does not wait, and asking what has ended is no error.
	Stop(signal string) error
	// Kill ends the task, whatever it does: Wait returns soon. Killing what has ended
	// is no error.
	Kill() error
}

// Tasks are the tasks of a driver that embeds it, and with it gets Wait, Stop, Destroy,
// Inspect and Events: they do what Driver says of them, whatever the order of the calls.
// Start and Recover are left to the driver, by means of Launch and Adopt. The zero value
// is ready for use.
type Tasks[R Running] struct {
	EventLog
	mu   sync.Mutex
	byID map[string]*held[R]
}

// held is one task.
type held[R Running] struct {
	task    TaskConfig // without Raw
	begun   chan struct{}
	failure error // why it has not begun, once begun is closed
	// What follows is there once begun is closed, if there is no failure.
	running   R
	startedAt time.Time
	ended     chan struct{}
	// And this once ended is closed.
	exit    ExitResult
	endedAt time.Time
}

// Launch starts a task by means of begin, and keeps it until Destroy. A task that is there
// already, or just being started, is an error. A driver may complete what is returned.
func (ts *Tasks[R]) Launch(task TaskConfig, begin func() (R, error)) (Started, error) {
	h, known := ts.claim(task)
	if known {
		return Started{}, fmt.Errorf("cannot start task %q: it has been started already", task.ID)
	}
	if err := ts.begin(h, begin); err != nil {
		return Started{}, err
	}
	return Started{State: h.running.State()}, nil
}

// Adopt takes up a task that find finds by its handle, as Launch does. A task that is there
// already stays as it is, ended or not; one that another call just looks for is waited for.
func (ts *Tasks[R]) Adopt(ctx context.Context, h Handle, find func(Handle) (R, error)) error {
	t, known := ts.claim(h.Task)
	if !known {
		return ts.begin(t, func() (R, error) { return find(h) })
	}
	select {
	case <-t.begun:
		return t.failure
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// claim returns the task of that id, and whether it was known: if not it is now, and its
// claimant has to begin it.
func (ts *Tasks[R]) claim(task TaskConfig) (h *held[R], known bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if h, known = ts.byID[task.ID]; known {
		return h, true
	}
	task.Raw = nil
	h = &held[R]{task: task, begun: make(chan struct{}), ended: make(chan struct{})}
	if ts.byID == nil {
		ts.byID = map[string]*held[R]{}
	}
	ts.byID[task.ID] = h
	return h, false
}

func (ts *Tasks[R]) begin(h *held[R], begin func() (R, error)) error {
	defer close(h.begun)
	r, err := begin()
	if err != nil {
		h.failure = err
		ts.drop(h)
		return err
	}
	h.running, h.startedAt = r, time.Now()
	go func() { // ends with the task
		defer close(h.ended)
		h.exit = r.Wait()
		h.endedAt = time.Now()
	}()
	return nil
}

func (ts *Tasks[R]) drop(h *held[R]) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.byID[h.task.ID] == h {
		delete(ts.byID, h.task.ID)
	}
}

// known returns a task that has begun: nobody has the handle of another.
func (ts *Tasks[R]) known(id string) (*held[R], error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	h, ok := ts.byID[id]
	if !ok {
		return nil, ErrTaskNotFound
	}
	select {
	case <-h.begun:
		return h, nil
	default:
		return nil, ErrTaskNotFound
	}
}

// Find returns a task that runs; ErrTaskNotFound and ErrTaskExited say that it does not. It
// is for what a driver adds: signals, exec, stats.
func (ts *Tasks[R]) Find(id string) (R, error) {
	h, err := ts.known(id)
	if err != nil {
		return *new(R), err
	}
	if h.hasEnded() {
		return *new(R), ErrTaskExited
	}
	return h.running, nil
}

func (h *held[R]) hasEnded() bool {
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}
