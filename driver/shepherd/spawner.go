package shepherd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"doze/driver/shepherd/cgroup"

	"golang.org/x/sys/unix"
)

// spawner starts the task's processes and reaps every child of this process, its own and
// the orphans that end up with it. One thread, which never does anything else, starts them:
// it carries no_new_privs and the v1 cgroups, which they inherit, and while it lives the
// kernel does not take their parent for dead.
type spawner struct {
	group *cgroup.Group
	cred  *syscall.Credential // nil: as this process
	dir   *os.File            // of the v2 cgroup; nil: none

	orders  chan order
	missing []string

	mu       sync.Mutex // held from a start to its entry in children
	children map[int]*process
}

// process is a child that was started here.
type process struct {
	pid   int
	ended chan struct{} // closed at its end
	state syscall.WaitStatus
}

// command is a program to start.
type command struct {
	path  string
	argv  []string
	env   []string
	dir   string
	files []*os.File // descriptors 0, 1, 2, …
	owned []*os.File // closed here once it has started, or failed to
	tty   bool       // descriptor 0 becomes the controlling terminal
}

type order struct {
	command command
	leave   bool // instead of a command
	reply   chan<- started
}

type started struct {
	process *process
	err     error
}

// newSpawner begins to reap at once. It lives as long as this process does.
func newSpawner(group *cgroup.Group, cred *syscall.Credential) (*spawner, error) {
	s := &spawner{
		group: group, cred: cred,
		orders: make(chan order), children: map[int]*process{},
	}
	var err error
	if s.dir, err = group.Directory(); err != nil {
		return nil, err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go s.reap(ended) // ends with the process
	ready := make(chan struct{})
	go s.run(ready) // ends with the process
	<-ready
	return s, nil
}

// run is the thread that starts processes. It is never unlocked, so nobody else runs on it.
func (s *spawner) run(ready chan<- struct{}) {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		s.missing = append(s.missing, "no_new_privs: "+err.Error())
	}
	if err := s.group.EnterThread(); err != nil {
		s.missing = append(s.missing, err.Error())
	}
	close(ready)
	for o := range s.orders {
		if o.leave {
			o.reply <- started{err: s.group.LeaveThread()}
			continue
		}
		p, err := s.fork(o.command)
		o.reply <- started{p, err}
	}
}

// leave takes the thread out of the task's cgroups. Nothing may be started after it.
func (s *spawner) leave() error {
	reply := make(chan started)
	s.orders <- order{leave: true, reply: reply}
	return (<-reply).err
}

// start starts a program.
func (s *spawner) start(c command) (*process, error) {
	reply := make(chan started)
	s.orders <- order{command: c, reply: reply}
	r := <-reply
	return r.process, r.err
}

func (s *spawner) fork(c command) (*process, error) {
	defer closeAll(c.owned)
	attr := &syscall.ProcAttr{Dir: c.dir, Env: c.env, Sys: s.attributes(c)}
	for _, f := range c.files {
		attr.Files = append(attr.Files, f.Fd())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(c.path, c.argv, attr)
	if errors.Is(err, syscall.ENOSYS) && attr.Sys.UseCgroupFD { // before Linux 5.7
		attr.Sys.UseCgroupFD = false
		if pid, err = syscall.ForkExec(c.path, c.argv, attr); err == nil {
			err = s.group.Adopt(pid)
		}
	}
	runtime.KeepAlive(c.files)
	if err != nil {
		return nil, &os.PathError{Op: "start", Path: c.path, Err: err}
	}
	p := &process{pid: pid, ended: make(chan struct{})}
	s.children[pid] = p
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was written through it here
	}
}

func (s *spawner) attributes(c command) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Setsid:     true,
		Setctty:    c.tty,
		Credential: s.cred,
		Pdeathsig:  syscall.SIGKILL,
	}
	if s.dir != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(s.dir.Fd())
	}
	return attr
}

func (s *spawner) reap(ended <-chan os.Signal) {
	for range ended {
		s.reapAll()
	}
}

// reapAll takes every child that has ended.
func (s *spawner) reapAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var state syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &state, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if p := s.children[pid]; p != nil {
			delete(s.children, pid)
			p.state = state
			close(p.ended)
		}
	}
}

// killAll kills everything that the task has started.
func (s *spawner) killAll() error {
	if os.Getpid() == 1 {
		// in a pid namespace of its own: everybody but this process, and no fork escapes
		err := s.group.Thaw()
		if killErr := syscall.Kill(-1, syscall.SIGKILL); !errors.Is(killErr, syscall.ESRCH) {
			err = errors.Join(err, killErr)
		}
		return err
	}
	err := s.group.Kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid := range s.children {
		// each leads a session; ESRCH: it has just ended
		if killErr := syscall.Kill(-pid, syscall.SIGKILL); !errors.Is(killErr, syscall.ESRCH) {
			err = errors.Join(err, killErr)
		}
	}
	return err
}

// wait returns nil when the process has ended. When ctx ends first the process and its
// session are killed, and ctx's cause is the error.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
	}
	// ESRCH: it has ended just now
	if err := syscall.Kill(-p.pid, syscall.SIGKILL); err == nil {
		<-p.ended
	}
	return context.Cause(ctx)
}
