package shepherd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// pipeWait is how long a log pipe may be without its reader when the task starts.
const pipeWait = 2 * time.Second

// openLog opens a log pipe for writing and keeps to what it was meant to be: the directory
// that holds its directory is a root that no link leads out of, and the pipe itself is no
// link (CVE-2026-8052: a task that replaces its log by one). "" and /dev/null are the
// null device.
func openLog(ctx context.Context, path string) (*os.File, error) {
	if path == "" || path == os.DevNull {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	f, err := openPipe(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("cannot open log %q: %w", path, err)
	}
	return f, nil
}

func openPipe(ctx context.Context, path string) (*os.File, error) {
	dir := filepath.Dir(path)
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := filepath.Join(filepath.Base(dir), filepath.Base(path))
	found, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case found.Mode()&fs.ModeNamedPipe == 0:
		return nil, errors.New("it is not a named pipe")
	}
	f, err := openForWriting(ctx, root, name)
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

// openForWriting waits for the pipe's reader for a moment, and gives a descriptor whose
// writes block, as applications expect.
func openForWriting(ctx context.Context, root *os.Root, name string) (*os.File, error) {
	const flags = os.O_WRONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	deadline := time.Now().Add(pipeWait)
	for {
		f, err := root.OpenFile(name, flags, 0)
		if err == nil {
			return f, syscall.SetNonblock(int(f.Fd()), false)
		}
		if !errors.Is(err, syscall.ENXIO) || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// makeBlock makes writes to the logs block, as applications expect. One that has changed
// that has done so for the next process too.
func makeBlock(logs [2]*os.File) error {
	for _, f := range logs {
		if err := syscall.SetNonblock(int(f.Fd()), false); err != nil {
			return fmt.Errorf("cannot use log %q: %w", f.Name(), err)
		}
	}
	return nil
}
