package driver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"doze/plugins/drivers"
)

// task is a task that this process knows.
type task struct {
	state handleState
	dog   Shepherd
	// stop ends the following of its events; the channel closes when that has ended.
	stop context.CancelFunc
	done chan struct{}
	// told closes when all events up to the task's exit have been passed on.
	told chan struct{}
}

// tasks are those that this process knows, by id. Nothing is held across a call to a
// shepherd.
type tasks struct {
	mu       sync.Mutex
	byID     map[string]*task
	starting map[string]bool // ids of tasks that are being started
}

func newTasks() *tasks { return &tasks{byID: map[string]*task{}, starting: map[string]bool{}} }

// reserve keeps an id for one start, and is false where it is taken: known, or being started.
func (ts *tasks) reserve(id string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.byID[id] != nil || ts.starting[id] {
		return false
	}
	ts.starting[id] = true
	return true
}

// unreserve ends a start, whatever has come of it.
func (ts *tasks) unreserve(id string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.starting, id)
}

// get returns a task, or drivers.ErrTaskNotFound.
func (ts *tasks) get(id string) (*task, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t, ok := ts.byID[id]
	if !ok {
		return nil, drivers.ErrTaskNotFound
	}
	return t, nil
}

// put adds a task unless there is one of its id.
func (ts *tasks) put(t *task) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if _, taken := ts.byID[t.state.TaskID]; taken {
		return false
	}
	ts.byID[t.state.TaskID] = t
	return true
}

// forget drops a task, if it still is that one.
func (ts *tasks) forget(t *task) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.byID[t.state.TaskID] == t {
		delete(ts.byID, t.state.TaskID)
	}
}

// letGo ends all following of events, and waits for it.
func (ts *tasks) letGo() {
	ts.mu.Lock()
	all := make([]*task, 0, len(ts.byID))
	for _, t := range ts.byID {
		all = append(all, t)
	}
	ts.mu.Unlock()
	for _, t := range all {
		t.release()
	}
}

// release ends the following of the task's events; any number of times.
func (t *task) release() {
	t.stop()
	<-t.done
}

// shortName is a file name for an id: sockets' paths have to be short.
func shortName(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:10])
}
