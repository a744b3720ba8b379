package shepherd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// find returns the path of a command's program: absolute as it is, relative to the task's
// directory, a bare name from the places that Spec.Command names.
func (s *Spec) find(command string) (string, error) {
	switch {
	case command == "":
		return "", errors.New("no command is given")
	case filepath.IsAbs(command):
		return command, executable(command)
	case strings.Contains(command, "/"):
		path := filepath.Join(s.Dir, command)
		return path, executable(path)
	}
	dirs := append([]string{filepath.Join(s.Dir, "local"), s.Dir}, s.searchPath()...)
	var fault error // of the first that is there
	for _, dir := range dirs {
		path := filepath.Join(dir, command)
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if fault == nil && isThere(path) {
			fault = err
		}
	}
	if fault != nil {
		return "", fault
	}
	return "", fmt.Errorf("command %q is in none of %s", command, strings.Join(dirs, ", "))
}

// executable says what keeps path from being started.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no command %q", path)
	case err != nil:
		return fmt.Errorf("cannot look at command %q: %w", path, err)
	case info.IsDir():
		return fmt.Errorf("command %q is a directory", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("command %q is no regular file", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("command %q is not executable (mode %#o); chmod +x makes it so",
			path, info.Mode().Perm())
	}
	return nil
}

// defaultPath is searched where the task's environment has no PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

func (s *Spec) searchPath() []string {
	path := defaultPath
	for _, entry := range s.Env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	return filepath.SplitList(path)
}

// environ is the application's environment; port 0 gives none.
func (s *Spec) environ(port int, extra []string) []string {
	env := make([]string, 0, len(s.Env)+len(extra)+2)
	for _, entry := range s.Env {
		env = append(env, expandPort(entry, port))
	}
	if port != 0 {
		env = append(env, "DOZE_PORT="+strconv.Itoa(port))
		if s.PortEnv != "" && s.PortEnv != "DOZE_PORT" {
			env = append(env, s.PortEnv+"="+strconv.Itoa(port))
		}
	}
	return append(env, extra...)
}

// arguments are the application's, without its name.
func (s *Spec) arguments(port int) []string {
	args := make([]string, len(s.Args))
	for i, arg := range s.Args {
		args[i] = expandPort(arg, port)
	}
	return args
}

func expandPort(text string, port int) string {
	if port == 0 {
		return text
	}
	return strings.ReplaceAll(text, "${DOZE_PORT}", strconv.Itoa(port))
}
