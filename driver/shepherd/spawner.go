package shepherd

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

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

// command is a program to start.
type command struct {
	path  string
	argv  []string
	env   []string
	dir   string
	files []*os.File // descriptors 0, 1, 2, …
	owned []*os.File // closed here once it has started, or failed to
	tty   bool       // descriptor 0 becomes the controlling terminal
	stays bool       // it is the task's, or its user's, and not the shepherd's own
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
		var p *process
		err := s.group.Start(func() (err error) {
			p, err = s.fork(o.command)
			return err
		})
		closeAll(o.command.owned)
		o.reply <- started{p, err}
	}
}

// leave takes the thread out of the task's cgroups. Nothing may be started after it.
func (s *spawner) leave() error {
	reply := make(chan started)
	s.orders <- order{leave: true, reply: reply}
	return (<-reply).err
}

// start starts a program; cgroup.ErrFrozen where the task stands still.
func (s *spawner) start(c command) (*process, error) {
	reply := make(chan started)
	s.orders <- order{command: c, reply: reply}
	r := <-reply
	return r.process, r.err
}

func (s *spawner) fork(c command) (*process, error) {
	attr := &syscall.ProcAttr{Dir: c.dir, Env: c.env, Sys: s.attributes(c)}
	for _, f := range c.files {
		attr.Files = append(attr.Files, f.Fd())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(c.path, c.argv, attr)
	if attr.Sys.UseCgroupFD && isOld(err) {
		attr.Sys.UseCgroupFD = false
		pid, err = s.forkAndMove(c, attr)
	}
	runtime.KeepAlive(c.files)
	if err != nil {
		return nil, &os.PathError{Op: "start", Path: c.path, Err: err}
	}
	p := &process{pid: pid, stays: c.stays, ended: make(chan struct{})}
	s.children[pid] = p
	return p, nil
}

// isOld reports whether a kernel may have no CLONE_INTO_CGROUP, which came with Linux 5.7: no
// clone3(2) at all, before 5.3 and under the filters of many a container, or a shorter one.
func isOld(err error) bool {
	return errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.E2BIG) ||
		errors.Is(err, syscall.EPERM)
}

// forkAndMove is fork for an old kernel: there the limits of cgroup v2, though not those of
// v1, hold from a moment after the start.
func (s *spawner) forkAndMove(c command, attr *syscall.ProcAttr) (int, error) {
	pid, err := syscall.ForkExec(c.path, c.argv, attr)
	if err != nil {
		return 0, err
	}
	if err := s.group.Adopt(pid); err != nil {
		return 0, errors.Join(err, kill(pid))
	}
	return pid, nil
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

// reapAll takes every child that has ended and reports whether none is left.
func (s *spawner) reapAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var state syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &state, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return errors.Is(err, syscall.ECHILD)
		}
		if p := s.children[pid]; p != nil {
			delete(s.children, pid)
			p.state = state
			close(p.ended)
		}
	}
}

// errSurvives: the kernel does not end what was killed, as long as it waits for a disk.
var errSurvives = errors.New("some of the task's processes survive SIGKILL")

// killed kills everything that the task has started and waits until it is gone.
func (s *spawner) killed() error {
	deadline := time.Now().Add(killedWithin)
	for {
		err := s.killAll()
		if s.reapAll() {
			return err
		}
		if time.Now().After(deadline) {
			return errors.Join(err, errSurvives)
		}
		time.Sleep(time.Millisecond)
	}
}

// killAll kills everybody but this process. In a pid namespace of its own no fork escapes;
// elsewhere what comes to this process later is killed when it is called again.
func (s *spawner) killAll() error {
	if os.Getpid() == 1 {
		return errors.Join(s.group.Thaw(), kill(-1))
	}
	err := s.group.Kill()
	for _, pid := range children() {
		err = errors.Join(err, kill(pid))
	}
	return err
}

// kill kills a process that may have ended already.
func kill(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// children lists the children of this process, adopted ones too; nil where the kernel does
// not tell.
func children() []int {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	var pids []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended has none
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
