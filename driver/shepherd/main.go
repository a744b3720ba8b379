package shepherd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"doze/driver/shepherd/cgroup"
)

// Names in a shepherd's directory, and the descriptors that Launch gives it.
const (
	socketName = "s"
	logName    = "log"

	readyFD = 3 // told once: readyNote
)

// readyNote is what a shepherd tells Launch.
type readyNote struct {
	Error string `json:"error"` // "": the task is held
}

// Main is a shepherd's whole life; it does not return before that is over, and returns the
// process's exit status. A program calls it where os.Args[1] is "shepherd"; see package
// entry.
func Main() int {
	ignore()
	log := slog.New(slog.NewTextHandler(&boundedLog{file: os.Stderr}, nil))
	if err := closeStrays(readyFD); err != nil {
		log.Warn("the task may inherit what is not its own", "err", err)
	}
	ready := os.NewFile(readyFD, "ready")
	if len(os.Args) != 3 || ready == nil {
		fmt.Fprintln(os.Stderr, "a shepherd is started by the doze task driver only")
		return 2
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := begin(ctx, os.Args[2], os.Stdin, log)
	if err != nil {
		if s != nil {
			err = errors.Join(err, s.remove())
		}
		_ = tell(ready, err) // who is gone is not told
		return 1
	}
	err = tell(ready, nil)
	debug.SetGCPercent(gcPercent)
	if err == nil { // else nobody will ever know of it
		err = s.run(ctx)
	}
	if err := errors.Join(err, s.remove()); err != nil {
		log.Error("shepherd ends", "err", err)
		return 1
	}
	return 0
}

// ignore keeps this process alive when whoever launched it is gone. The signals are caught
// and not ignored: what is ignored would be so in the task too.
func ignore() {
	signal.Notify(make(chan os.Signal, 1),
		syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
}

func tell(ready io.WriteCloser, err error) error {
	var note readyNote
	if err != nil {
		note.Error = err.Error()
	}
	err = json.NewEncoder(ready).Encode(note)
	return errors.Join(err, ready.Close())
}

// shepherd is what Main runs.
type shepherd struct {
	dir     string
	control *net.UnixListener
	task    *task
	missing []string
}

// begin does all that can fail for reasons of the task's own: when it returns nil, the
// application runs (or is born parked) and calls are about to be answered.
func begin(ctx context.Context, dir string, in io.ReadCloser, log *slog.Logger) (*shepherd, error) {
	spec, err := readSpec(in)
	if err != nil {
		return nil, err
	}
	if err := in.Close(); err != nil {
		return nil, err
	}
	missing := settle()
	missing = append(missing, told("own cgroup", cgroup.Enter(spec.Cgroup.Shepherd))...)
	s := &shepherd{dir: dir, missing: missing}
	if s.control, err = net.ListenUnix("unix", &net.UnixAddr{
		Name: filepath.Join(dir, socketName), Net: "unix",
	}); err != nil {
		return nil, fmt.Errorf("cannot listen for calls: %w", err)
	}
	if s.task, err = newTask(ctx, spec, log); err != nil {
		return s, err
	}
	s.missing = append(s.missing, s.task.refused()...)
	s.task.tellExposed(s.missing)
	if s.task.cgroups.Freezer() == "" {
		s.missing = append(s.missing, told("freezer", cgroup.ErrNoFreezer)...)
	}
	return s, s.task.begin()
}

// run answers calls until the shepherd is told to go.
func (s *shepherd) run(ctx context.Context) error {
	ctx, destroy := context.WithCancel(ctx)
	defer destroy()
	calls := &server{task: s.task, listener: s.control, missing: s.missing, destroy: destroy}
	return errors.Join(s.task.hold(ctx, calls), s.task.closeLogs())
}

// remove takes away what is left when a shepherd ends.
func (s *shepherd) remove() error {
	var errs []error
	if s.task != nil {
		errs = append(errs, s.task.spawner.killed(),
			s.task.spawner.leave(), s.task.cgroups.Remove())
	}
	if s.control != nil {
		_ = s.control.Close() // closed by the server already, but for an early end
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
