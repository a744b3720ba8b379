package shepherd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// LogFiles says where the shepherd writes what the application says: <Name>.stdout.N and
// <Name>.stderr.N, N from 0 on, as Nomad's own collector would. The zero value: nowhere.
type LogFiles struct {
	// Dir is absolute, and open to the task like the directory that it lies in; no link
	// is followed out of the latter.
	Dir      string
	Name     string // the task's
	MaxFiles int    // kept of each of the two; at least 1
	MaxSize  int64  // of one file, in bytes; at least 1
}

func (l LogFiles) on() bool { return l != LogFiles{} }

func (l LogFiles) validate() error {
	switch {
	case !l.on():
		return nil
	case !filepath.IsAbs(l.Dir):
		return errors.New("logs: the directory must be absolute")
	case l.Name == "" || strings.ContainsAny(l.Name, "/\x00"):
		return errors.New("logs: the name must be that of a file")
	case l.MaxFiles < 1 || l.MaxSize < 1:
		return errors.New("logs: at least one file of at least one byte")
	}
	return nil
}

// discards reports whether output that goes to path goes nowhere.
func discards(path string) bool { return path == "" || path == os.DevNull }
