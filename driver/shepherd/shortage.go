package shepherd

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxConns bounds the connections of a task; what comes after waits in the kernel's queue.
	maxConns = 16 << 10
	// perConnFiles is how many descriptors a connection takes up: the client's, the application's
	// and, where one of them is slow to read, a pipe's two.
	perConnFiles = 4
	// ownFiles is how many a shepherd may need besides: for logs, cgroups, probes and callers.
	ownFiles = 64
)

// connsWithin is how many connections there is room for under a limit of descriptors.
func connsWithin(files uint64) int {
	files = min(files, ownFiles+perConnFiles*maxConns)
	return max((int(files)-ownFiles)/perConnFiles, 1)
}

// fileLimit is how many descriptors this process may have, the most that it is allowed: Go has
// raised the limit. Where that can't be read it is as many as any machine grants.
func fileLimit() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return limit.Cur
}

const (
	// shortFor is how long to wait for something to be free again.
	shortFor = 100 * time.Millisecond
	// spell is after how long without a shortage the next one is another, to be told of.
	spell = time.Minute
)

// shortage knows when there was one last.
type shortage struct {
	mu   sync.Mutex
	last time.Time
}

// begins takes note of a shortage, and reports whether it is a new one.
func (s *shortage) begins(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last
	s.last = now
	return last.IsZero() || now.Sub(last) > spell
}

// wait waits for what is short, and reports whether ctx goes on.
func (p *relayPort) wait(ctx context.Context, what string, err error) bool {
	if p.shortage.begins(time.Now()) {
		p.log.Warn(what+": what comes waits until something is free again", "err", err)
	}
	return pause(ctx, shortFor)
}
