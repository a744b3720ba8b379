package shepherd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// logFolder is a directory with one log's files, opened for a moment. The task may write
// there, so nothing in it is trusted: no link is followed, and only what is a file and has
// no other name is written to (CVE-2026-8052).
type logFolder struct {
	root   *os.Root
	prefix string // of the files' names, before their index
}

// openLogFolder opens dir, of which only the directory above it is trusted.
func openLogFolder(dir, prefix string) (*logFolder, error) {
	above, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer above.Close()
	root, err := above.OpenRoot(filepath.Base(dir))
	if err != nil {
		return nil, err
	}
	return &logFolder{root, prefix}, nil
}

func (f *logFolder) close() error { return f.root.Close() }

func (f *logFolder) name(index int) string { return f.prefix + strconv.Itoa(index) }

// indices are those of all that has the name of one of the log's files, ascending.
func (f *logFolder) indices() ([]int, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var found []int
	for {
		entries, err := dir.ReadDir(64) // not all at once: there may be any number
		for _, entry := range entries {
			if index, ok := f.indexOf(entry.Name()); ok {
				found = append(found, index)
			}
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(found)
			return found, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// indexOf reads the index that a file's name ends in; what a task has named like no other
// file of the log does not count.
func (f *logFolder) indexOf(name string) (int, bool) {
	text, ok := strings.CutPrefix(name, f.prefix)
	index, err := strconv.ParseUint(text, 10, 31)
	return int(index), ok && err == nil && strconv.FormatUint(index, 10) == text
}

// errNotOurs is about something in a log's place that is not to be written to.
var errNotOurs = errors.New("it is not a file of its own")

// open opens a file that is there, to append to it.
func (f *logFolder) open(index int) (*os.File, error) {
	name := f.name(index)
	found, err := f.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !found.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotOurs}
	}
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	if err == nil && (!os.SameFile(found, opened) || links(opened) != 1) {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotOurs}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// links is how many names a file has.
func links(info fs.FileInfo) int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return int(st.Nlink)
}

// create makes a file, which must not be there.
func (f *logFolder) create(index int) (*os.File, error) {
	return f.root.OpenFile(f.name(index), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
}

// prune removes the oldest of the files with these indices, but for so many.
func (f *logFolder) prune(indices []int, keep int) error {
	var errs []error
	for _, index := range indices[:max(0, len(indices)-keep)] {
		if err := f.root.Remove(f.name(index)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("cannot remove an old log: %w", err))
		}
	}
	return errors.Join(errs...)
}
