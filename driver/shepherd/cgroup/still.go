package cgroup

import (
	"errors"
	"path/filepath"
	"sync"
)

// ErrFrozen: the task stands still, so nothing can be started in it.
var ErrFrozen = errors.New("the task is frozen")

// still keeps freezes and starts of processes apart. A process that is frozen before it has
// become another program holds up the thread that started it (vfork(2)) and, since Go lets
// go of no processor meanwhile, sooner or later the whole program: nobody is left to thaw.
type still struct {
	mu     sync.RWMutex // held by starts for reading
	frozen bool
}

// set waits for the starts that are under way.
func (s *still) set(frozen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = frozen
}

// Start calls start, which starts one process in the group, by a thread that has called
// EnterThread; the group is not frozen before it returns. ErrFrozen, without a call, where
// the group is frozen or about to be.
func (g *Group) Start(start func() error) error {
	g.still.mu.RLock()
	defer g.still.mu.RUnlock()
	if g.still.frozen {
		return ErrFrozen
	}
	freezer := g.legacy["freezer"]
	if freezer == "" {
		return start()
	}
	// only for as long as it takes: a thread that is frozen with the task keeps its process
	// from dying
	if err := write(freezer, "tasks", "0"); err != nil {
		return err
	}
	return errors.Join(start(), write(filepath.Dir(freezer), "tasks", "0"))
}
