package shepherd

import (
	"context"
	"syscall"
	"time"
)

// process is a child that was started here.
type process struct {
	pid   int
	stays bool          // see command
	ended chan struct{} // closed at its end
	state syscall.WaitStatus
}

// wait returns nil when the process has ended. When ctx ends first the process and its
// session are killed, and ctx's cause is the error. Their end is not waited for: what is
// frozen, or waits for a disk, takes its time.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
	}
	_ = syscall.Kill(-p.pid, syscall.SIGKILL) // one that has ended just now is not there
	return context.Cause(ctx)
}

// settledWithin bounds how long the shepherd's own processes are waited for.
const settledWithin = time.Second

// settle waits for the end of the probes that were under way when the gate was shut, so that
// none of them is frozen with the task.
func (s *spawner) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settledWithin)
	defer cancel()
	for p := s.own(); p != nil && ctx.Err() == nil; p = s.own() {
		select {
		case <-p.ended:
		case <-ctx.Done():
		}
	}
}

// own returns a process that the shepherd has started for itself, or nil.
func (s *spawner) own() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.children {
		if !p.stays {
			return p
		}
	}
	return nil
}
