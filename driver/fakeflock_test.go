package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/idle"
)

// fakeFlock keeps its shepherds in memory: they outlive a Driver as real ones outlive the
// plugin's process.
type fakeFlock struct {
	mu       sync.Mutex
	byDir    map[string]*fakeShepherd
	launches int
	refuse   error         // of Launch
	slow     time.Duration // what a launch takes
	swept    []string
}

func (f *fakeFlock) Launch(_ context.Context, dir string, s shepherd.Spec) (Shepherd, error) {
	time.Sleep(f.slow)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	if f.byDir == nil {
		f.byDir = map[string]*fakeShepherd{}
	}
	if f.byDir[dir] != nil {
		return nil, fmt.Errorf("there is a shepherd at %s", dir)
	}
	f.launches++
	dog := &fakeShepherd{spec: s, gone: make(chan struct{}), exited: make(chan struct{}),
		events: make(chan shepherd.Event, 16)}
	dog.remove = func() { f.mu.Lock(); defer f.mu.Unlock(); delete(f.byDir, dir) }
	f.byDir[dir] = dog
	return dog, nil
}

func (f *fakeFlock) Connect(_ context.Context, dir string) (Shepherd, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if dog := f.byDir[dir]; dog != nil {
		return dog, nil
	}
	return nil, shepherd.ErrGone
}

func (f *fakeFlock) At(dir string) Shepherd {
	if dog, err := f.Connect(context.Background(), dir); err == nil {
		return dog
	}
	gone := make(chan struct{})
	close(gone)
	return &fakeShepherd{gone: gone}
}

func (f *fakeFlock) Sweep(dir string, _ cgroup.Spec) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.swept = append(f.swept, dir)
	return nil
}

// only is the one shepherd there is; nil: there is none.
func (f *fakeFlock) only() *fakeShepherd {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, dog := range f.byDir {
		return dog
	}
	return nil
}

// fakeShepherd is a task that does what it is told at once.
type fakeShepherd struct {
	spec   shepherd.Spec
	remove func()
	gone   chan struct{} // closed when the shepherd has ended
	exited chan struct{} // closed when the task has
	events chan shepherd.Event
	dies   bool // when it is told to destroy, before it has

	mu    sync.Mutex
	exit  *shepherd.Exit
	calls []string
	stats shepherd.Stats
}

func (s *fakeShepherd) called(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

// end lets the task end by itself.
func (s *fakeShepherd) end(exit shepherd.Exit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exit == nil {
		s.exit = &exit
		close(s.exited)
	}
}

// die ends the shepherd, as a SIGKILL does.
func (s *fakeShepherd) die() {
	s.remove()
	close(s.gone)
}

func (s *fakeShepherd) isGone() error {
	select {
	case <-s.gone:
		return fmt.Errorf("cannot ask: %w", shepherd.ErrGone)
	default:
		return nil
	}
}

func (s *fakeShepherd) Wait(ctx context.Context) (shepherd.Exit, error) {
	select {
	case <-ctx.Done():
		return shepherd.Exit{}, ctx.Err()
	case <-s.gone:
		return shepherd.Exit{}, s.isGone()
	case <-s.exited:
		return *s.exit, nil
	}
}

func (s *fakeShepherd) Stop(_ context.Context, timeout time.Duration, signal string) error {
	if err := s.isGone(); err != nil {
		return err
	}
	s.called("stop %s %s", timeout, signal)
	s.end(shepherd.Exit{Signal: 15})
	return nil
}

func (s *fakeShepherd) Destroy(context.Context) error {
	if err := s.isGone(); err != nil {
		return err
	}
	s.called("destroy")
	s.die()
	if s.dies {
		return context.DeadlineExceeded
	}
	return nil
}

func (s *fakeShepherd) Signal(_ context.Context, name string) error {
	s.called("signal %s", name)
	return s.isGone()
}

func (s *fakeShepherd) Sleep(_ context.Context, depth idle.Depth) error {
	s.called("sleep %s", depth)
	return s.isGone()
}

func (s *fakeShepherd) Wake(context.Context) error {
	s.called("wake")
	return errors.New("the app never listened")
}

func (s *fakeShepherd) Status(context.Context) (shepherd.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return shepherd.Status{State: idle.Ready, Wakes: 3, Exit: s.exit,
		Missing: []string{"own /proc: refused"}}, s.isGone()
}

func (s *fakeShepherd) Stats(context.Context) (shepherd.Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats, s.isGone()
}

func (s *fakeShepherd) Events(ctx context.Context, yield func(shepherd.Event) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.gone:
			return s.isGone()
		case e := <-s.events:
			if err := yield(e); err != nil {
				return err
			}
		}
	}
}

func (s *fakeShepherd) Exec(ctx context.Context, e shepherd.ExecSpec, stdin io.Reader,
	stdout, _ io.Writer,
) (shepherd.Exit, error) {
	if e.Argv[0] == "size" {
		select {
		case size := <-e.Size:
			fmt.Fprintf(stdout, "%dx%d", size.Width, size.Height)
		case <-ctx.Done():
			return shepherd.Exit{}, ctx.Err()
		}
		return shepherd.Exit{}, nil
	}
	if _, err := io.Copy(stdout, stdin); err != nil {
		return shepherd.Exit{}, err
	}
	return shepherd.Exit{Code: 7}, s.isGone()
}
