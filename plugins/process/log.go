package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"doze/plugins/drivers"
)

// readerWait is how long a log may be without its reader: Nomad's log collector is only just
// opening it when the task starts.
const readerWait = 2 * time.Second

func (p *prepared) openLogs(task drivers.TaskConfig, cmd *exec.Cmd) error {
	for _, log := range []struct {
		path string
		to   *io.Writer
	}{{task.StdoutPath, &cmd.Stdout}, {task.StderrPath, &cmd.Stderr}} {
		if *log.to != nil {
			continue
		}
		f, err := openLog(log.path)
		if err != nil {
			return fmt.Errorf("cannot open log %q: %w", log.path, err)
		}
		p.files = append(p.files, f)
		*log.to = f
	}
	return nil
}

// openLog opens a log. The directory that it lies in can be written to by tasks: its parent is
// a root that no link leads out of, and the log has to be the pipe that Nomad has made, not a
// link to another (CVE-2026-8052). "" and /dev/null are the null device.
func openLog(path string) (*os.File, error) {
	if path == "" || path == os.DevNull {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	dir := filepath.Dir(path)
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := filepath.Join(filepath.Base(dir), filepath.Base(path))
	found, err := root.Lstat(name)
	if err == nil && found.Mode()&os.ModeNamedPipe == 0 {
		err = errors.New("it is no named pipe")
	}
	if err != nil {
		return nil, err
	}
	f, err := openPipe(root, name)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(found, opened) {
		err = errors.New("it was replaced while it was opened")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openPipe waits for the reader. Writes to what it returns block, as tasks expect it.
func openPipe(root *os.Root, name string) (*os.File, error) {
	deadline := time.Now().Add(readerWait)
	for {
		f, err := root.OpenFile(name, os.O_WRONLY|unix.O_NONBLOCK, 0)
		switch {
		case err == nil:
			return f, unix.SetNonblock(int(f.Fd()), false)
		case !errors.Is(err, unix.ENXIO):
			return nil, err
		case time.Now().After(deadline):
			return nil, drivers.Recoverable(errors.New("nobody reads it"))
		}
		time.Sleep(5 * time.Millisecond)
	}
}
