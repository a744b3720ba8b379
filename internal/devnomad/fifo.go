package devnomad

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// fifos are what a driver writes a task's logs to: named pipes beside the log files, which
// are read here until their last writer has gone, as Nomad's log collector does.
type fifos struct {
	paths   [2]string
	own     []*os.File // writers that keep the readers reading
	reading sync.WaitGroup
}

// fifosOf names the pipes of a task's standard output and standard error, by Nomad's names.
// Where the job wants no logs they are no pipes, but where everything is lost.
func fifosOf(spec TaskSpec) *fifos {
	if spec.NoLogs {
		return &fifos{paths: [2]string{os.DevNull, os.DevNull}}
	}
	at := filepath.Join(filepath.Dir(spec.Stdout), "."+spec.Name)
	return &fifos{paths: [2]string{at + ".stdout.fifo", at + ".stderr.fifo"}}
}

// collect makes the pipes, and the log files that they are read to.
func (f *fifos) collect(spec TaskSpec) error {
	for i, log := range []string{spec.Stdout, spec.Stderr} {
		if err := f.open(f.paths[i], log); err != nil {
			return errors.Join(
				fmt.Errorf("cannot collect the logs of task %q: %w", spec.Name, err), f.end())
		}
	}
	return nil
}

func (f *fifos) open(path, log string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // an earlier start of the task had it
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	// Without a writer only a reader that does not block can be opened.
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	own, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	f.own = append(f.own, own)
	f.reading.Go(func() {
		defer in.Close()
		defer out.Close()
		// A full disk loses a log and no task, as in Nomad.
		_, _ = io.Copy(out, in)
	})
	return nil
}

// end waits for what the task has written last. The task's writers have to be gone.
func (f *fifos) end() error {
	var errs []error
	for _, own := range f.own {
		errs = append(errs, own.Close())
	}
	f.reading.Wait()
	for _, path := range f.paths {
		if path == os.DevNull {
			continue
		}
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
