package shepherd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"doze/driver/shepherd/cgroup"

	"golang.org/x/sys/unix"
)

// birth brings a shepherd into the world where it is to live: its cgroups, its network
// namespace and, as root, namespaces of its own.
type birth struct {
	dir   string
	spec  *Spec
	log   *os.File
	place *cgroup.Birthplace
}

// errStillborn: it was killed before it could say a word.
var errStillborn = errors.New("the shepherd was killed as soon as it was started")

// errSilent: it has ended before it could say a word.
var errSilent = errors.New("the shepherd ended without a word")

// attempt starts the shepherd and waits for what it says of its start.
func (b *birth) attempt(ctx context.Context) error {
	told, ready, err := os.Pipe()
	if err != nil {
		return err
	}
	defer told.Close()
	in, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, ready.Close())
	}
	p, err := b.start([]*os.File{in, b.log, b.log, ready})
	if err := errors.Join(err, in.Close(), ready.Close()); err != nil {
		return errors.Join(err, out.Close())
	}
	ended := make(chan *os.ProcessState, 1)
	go func() { // for the kernel's sake, and as long as the shepherd lives
		state, _ := p.Wait() // how a task ends is asked of the shepherd
		ended <- state
	}()
	stop := context.AfterFunc(ctx, func() { _ = told.Close() })
	defer stop()
	writeErr := errors.Join(b.write(out), out.Close())
	if err := b.hear(ctx, told); err != nil {
		_ = p.Kill() // it ends by itself, but when ctx has ended first
		if state := <-ended; errors.Is(err, errSilent) && wasKilled(state) {
			return errStillborn
		}
		return err
	}
	return writeErr
}

// write hands the spec over; what has been done at birth is left out.
func (b *birth) write(w io.Writer) error {
	s := *b.spec
	s.Cgroup.Shepherd = b.place.Others
	return s.write(w)
}

// hear waits for what the shepherd says of its start.
func (b *birth) hear(ctx context.Context, told io.Reader) error {
	var note readyNote
	err := json.NewDecoder(told).Decode(&note)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w%s", errSilent, lastLines(b.log.Name()))
	case note.Error != "":
		return errors.New(note.Error)
	}
	return nil
}

// lastLines is the end of a log, for an error.
func lastLines(log string) string {
	text, err := os.ReadFile(log)
	if err != nil || len(text) == 0 {
		return ""
	}
	const enough = 512
	return ": " + strings.TrimSpace(string(text[max(0, len(text)-enough):]))
}

func wasKilled(state *os.ProcessState) bool {
	if state == nil {
		return false
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// start starts the process with files as its descriptors 0, 1, 2, …
func (b *birth) start(files []*os.File) (*os.Process, error) {
	var p *os.Process
	var err error
	onThread(func() {
		if err = enterNetwork(b.spec.NetNS); err != nil {
			return
		}
		b.place.EnterThread()
		p, err = b.clone(&os.ProcAttr{Env: environment(), Files: files})
	})
	return p, err
}

// clone does without what the kernel does not allow: first without the place, which only
// saves time.
func (b *birth) clone(attr *os.ProcAttr) (*os.Process, error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		attr.Sys.Cloneflags = namespaces
	}
	for {
		if attr.Sys.UseCgroupFD = b.place.Unified != nil; attr.Sys.UseCgroupFD {
			attr.Sys.CgroupFD = int(b.place.Unified.Fd())
		}
		// the same program, as it was when this process was started
		p, err := os.StartProcess("/proc/self/exe", []string{"doze", "shepherd", b.dir}, attr)
		switch {
		case err != nil && attr.Sys.UseCgroupFD:
			b.place.LeaveUnified()
		case errors.Is(err, syscall.EPERM) && attr.Sys.Cloneflags != 0:
			attr.Sys.Cloneflags = 0
		default:
			return p, err
		}
	}
}

// environment is one of the shepherd's own that keeps it small; see lean. The garbage of
// starting is left to lie until the application has been started; see Main.
func environment() []string {
	return []string{"GOGC=off", "GOMAXPROCS=1", "GODEBUG=memprofilerate=0,disablethp=1"}
}

// onThread runs f on a thread that ends then: one that has changed its network namespace or
// its cgroups is of no use to anybody else.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // until this goroutine ends, and the thread with it
		if unix.Gettid() != os.Getpid() {
			f()
			return
		}
		onThread(f) // the main thread does not end
		runtime.UnlockOSThread()
	}()
	<-done
}

// enterNetwork moves the calling thread into a network namespace; "": it stays.
func enterNetwork(path string) error {
	if path == "" {
		return nil
	}
	ns, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot enter network namespace: %w", err)
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("cannot enter network namespace %q: %w", path, err)
	}
	return nil
}
