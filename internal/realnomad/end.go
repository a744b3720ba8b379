package realnomad

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// markVar is in the environment of an agent and so of all that it starts: its
// plugins, and the tasks of raw_exec, which inherit the agent's environment.
const markVar = "REALNOMAD_OWNER"

// newMark names the process that owns an agent, and the agent.
func newMark() string { return fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()) }

// politeness is how long an agent and its tasks get to end by themselves.
const politeness = 10 * time.Second

// Signal sends the agent's process a signal, and waits for nothing.
func (a *Agent) Signal(sig syscall.Signal) error {
	if err := a.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("cannot send the agent %v: %w", sig, err)
	}
	return nil
}

// End ends the agent's process by a signal and waits for it; tasks go on. One that the
// signal does not end is killed, and one that has ended before it was there already: both
// are errors, since then the signal was not tried.
func (a *Agent) End(sig syscall.Signal) error {
	if a.log == nil {
		return nil
	}
	var err error
	select {
	case <-a.ended:
		err = a.endedByItself()
	default:
		err = a.end(sig)
	}
	err = errors.Join(err, a.log.Close())
	a.log = nil
	return err
}

// end ends the process by the signal, or says why that did not.
func (a *Agent) end(sig syscall.Signal) error {
	err := a.Signal(sig)
	select {
	case <-a.ended:
		if of := a.cmd.ProcessState.Sys().(syscall.WaitStatus); of.Signaled() && of.Signal() != sig {
			err = errors.Join(err, a.endedByItself())
		}
		return err
	case <-time.After(politeness):
	}
	err = errors.Join(err, fmt.Errorf("cannot end the agent by %v: it was killed after %s",
		sig, politeness), a.Signal(syscall.SIGKILL))
	<-a.ended
	return err
}

// endedByItself says how the process ended that nobody here has.
func (a *Agent) endedByItself() error {
	return fmt.Errorf("nomad has ended by itself (%s): %s", a.cmd.ProcessState, a.lastWords())
}

// EndAll ends the agent's process and its helpers, plugins and log collectors, as a crash of
// the machine does. What a plugin has started in an environment of its own goes on.
func (a *Agent) EndAll() error {
	err := a.End(syscall.SIGKILL)
	a.sweep()
	return err
}

// sweep kills all that has the agent's mark.
func (a *Agent) sweep() { sweep(func(mark string) bool { return mark == a.mark }) }

// Close ends the agent, every task and every helper process of it, and removes
// its directory. The agent itself has nothing to save, so it gets no grace.
func (a *Agent) Close() error {
	errs := []error{a.stopJobs(), a.End(syscall.SIGKILL)}
	a.sweep()
	if a.ports != nil {
		errs = append(errs, a.ports.Close())
	}
	return errors.Join(append(errs, removeDir(a.Dir))...)
}

// dirPrefix begins the name of an agent's directory; its owner's pid follows.
const dirPrefix = "realnomad-"

// removeDir removes an agent's directory, after what the agent has mounted in
// it: each task's secrets are on a file system of their own.
func removeDir(dir string) error {
	const detach = 2 // MNT_DETACH of umount(2)
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil && !errors.Is(err, os.ErrNotExist) { // Linux alone has it
		return fmt.Errorf("cannot list mounts: %w", err)
	}
	var errs []error
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) > 1 && strings.HasPrefix(f[1], dir+"/") {
			errs = append(errs, syscall.Unmount(f[1], detach))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(dir))...)
}

// stopJobs lets the agent end its tasks itself, so that it cleans up after them.
func (a *Agent) stopJobs() error {
	if a.log == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), politeness)
	defer cancel()
	c, q := a.Client(), (&nomad.QueryOptions{Namespace: "*"}).WithContext(ctx)
	jobs, _, err := c.Jobs().List(q)
	if err != nil {
		return fmt.Errorf("cannot list the agent's jobs: %w", err)
	}
	for _, j := range jobs {
		w := (&nomad.WriteOptions{Namespace: j.Namespace}).WithContext(ctx)
		if _, _, err := c.Jobs().Deregister(j.ID, false, w); err != nil {
			return fmt.Errorf("cannot stop job %q: %w", j.ID, err)
		}
	}
	for {
		allocs, _, err := c.Allocations().List(q)
		if ctx.Err() != nil {
			return nil // polite for long enough: the sweep ends what is left
		}
		if err != nil || !anyRunning(allocs) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func anyRunning(allocs []*nomad.AllocationListStub) bool {
	for _, a := range allocs {
		if a.ClientStatus == "running" || a.ClientStatus == "pending" {
			return true
		}
	}
	return false
}

// sweepAbandoned ends and removes what the agents of test processes that are
// gone have left.
func sweepAbandoned() {
	sweep(abandoned)
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if abandoned(strings.TrimPrefix(filepath.Base(dir), dirPrefix)) {
			// The next run tries again.
			_ = removeDir(dir)
		}
	}
}

// abandoned says whether the process that a mark begins with is gone.
func abandoned(mark string) bool {
	owner, _, ok := strings.Cut(mark, "-")
	pid, err := strconv.Atoi(owner)
	return ok && err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// sweep kills every process with a mark that want accepts. It looks again until
// it finds none, since a process may fork while it is being killed.
func sweep(want func(mark string) bool) {
	for range 20 {
		found := false
		environs, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			return
		}
		for _, path := range environs {
			env, err := os.ReadFile(path)
			if err != nil || !marked(env, want) {
				continue // gone, or somebody else's
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err == nil && pid != os.Getpid() {
				found = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if !found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func marked(env []byte, want func(string) bool) bool {
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if mark, ok := bytes.CutPrefix(kv, []byte(markVar+"=")); ok {
			return want(string(mark))
		}
	}
	return false
}
