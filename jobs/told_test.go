package jobs_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"doze/healthgate"
	"doze/idle"
	"doze/jobs"
)

// told is a Sink that keeps what it is told.
type told struct {
	start time.Time

	mu      sync.Mutex
	lines   []string // every call in words, without Resynced
	work    map[idle.GroupID]idle.Workload
	groups  map[idle.GroupID]jobs.Group
	targets map[idle.GroupID][]healthgate.Target
	placed  map[idle.GroupID]time.Duration // since start, of the last targets
	resyncs int
}

func (s *told) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *told) Put(g jobs.Group, w idle.Workload, o idle.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups == nil {
		s.groups = map[idle.GroupID]jobs.Group{}
	}
	s.groups[g.ID], s.work[g.ID] = g, w
	s.say("put %s count %d: %s", g.ID, o.Count, o.Cause)
}

func (s *told) Remove(id idle.GroupID, cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups, id)
	s.say("remove %s: %s", id, cause)
}

func (s *told) Observe(id idle.GroupID, o idle.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say("observe %s count %d: %s", id, o.Count, o.Cause)
}

func (s *told) Targets(id idle.GroupID, targets []healthgate.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.targets == nil {
		s.targets = map[idle.GroupID][]healthgate.Target{}
		s.placed = map[idle.GroupID]time.Duration{}
	}
	s.targets[id] = targets
	s.placed[id] = time.Since(s.start)
	s.say("targets %s: %d", id, len(targets))
}

func (s *told) Diagnose(job idle.GroupID, ds jobs.Diagnostics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say("diagnose %s/%s: %s", job.Namespace, job.Job, ds.Error())
}

func (s *told) Resynced(time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resyncs++
}

func (s *told) workload(id idle.GroupID) idle.Workload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.work[id]
}

// addresses returns the targets told last.
func (s *told) addresses(id idle.GroupID) []healthgate.Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.targets[id])
}

// news returns what was told since the last call.
func (s *told) news() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

// expect fails the test unless exactly these lines were told since the last call. A line
// that ends in "…" is compared up to there.
func (w *world) expect(want ...string) {
	w.t.Helper()
	got := w.news()
	if !slices.EqualFunc(got, want, matches) {
		w.t.Errorf("told:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "),
			strings.Join(want, "\n  "))
	}
}

func matches(got, want string) bool {
	if head, cut := strings.CutSuffix(want, "…"); cut {
		return strings.HasPrefix(got, head)
	}
	return got == want
}

// mustFail fails the test unless err contains all the words.
func mustFail(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q lacks %q", err, word)
		}
	}
}
