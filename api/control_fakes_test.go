package api_test

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"doze/api/wire"
	"doze/healthgate"
	"doze/idle"
)

// fakeGroup is a workload that is placed and boots in virtual time.
type fakeGroup struct {
	*idle.Group
	placesAfter, bootsAfter time.Duration
	wakeErr                 error

	mu            sync.Mutex
	wakes, sleeps int
	bootsAt       time.Time // zero: it does not run
}

func (f *fakeGroup) Wake(ctx context.Context, _ healthgate.Generation) error {
	f.mu.Lock()
	f.wakes++
	f.mu.Unlock()
	select {
	case <-time.After(f.placesAfter):
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.wakeErr != nil {
		return f.wakeErr
	}
	f.run(time.Now().Add(f.bootsAfter))
	f.SetTargets([]healthgate.Target{{ID: "alloc-1", Addr: "10.0.0.1:20001"}})
	return nil
}

func (f *fakeGroup) Sleep(context.Context, healthgate.Generation, idle.Depth, string) error {
	f.mu.Lock()
	f.sleeps++
	f.mu.Unlock()
	f.run(time.Time{})
	return nil
}

func (f *fakeGroup) run(bootsAt time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bootsAt = bootsAt
}

func (f *fakeGroup) calls() (wakes, sleeps int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wakes, f.sleeps
}

// dial is the network that probes see.
func (f *fakeGroup) dial(context.Context, string, string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bootsAt.IsZero() || time.Now().Before(f.bootsAt) {
		return nil, syscall.ECONNREFUSED
	}
	here, there := net.Pipe()
	_ = there.Close() // a tcp probe sends nothing
	return here, nil
}

// fakeLeaseStore remembers what was saved last.
type fakeLeaseStore struct {
	err error

	mu    sync.Mutex
	saved map[idle.GroupID]map[string]time.Time
	calls int
}

func (s *fakeLeaseStore) SaveLeases(_ context.Context, id idle.GroupID,
	leases map[string]time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.err != nil {
		return s.err
	}
	if s.saved == nil {
		s.saved = map[idle.GroupID]map[string]time.Time{}
	}
	s.saved[id] = leases
	return nil
}

func (s *fakeLeaseStore) of(id wire.ID) map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saved[idle.GroupID(id)]
}
