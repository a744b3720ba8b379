package driver

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a task's or an agent's configuration.
type Problem struct {
	Path string // `config > probe "http" > path`
	What string // what is wrong
	Hint string // what to do about it; "": nothing to say
}

// String returns it in a line.
func (p Problem) String() string {
	line := p.Path + ": " + p.What
	if p.Hint != "" {
		line += "; " + p.Hint
	}
	return line
}

// Problems are all that is wrong, in the order of the reference.
type Problems []Problem

// Error returns a line for each.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// err returns ps as an error; nil when there are none.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// add records a problem of a key of the config block.
func (ps *Problems) add(key, hint, format string, args ...any) {
	ps.addAt("config > "+key, hint, format, args...)
}

// addAt records a problem of what is written anywhere in the job.
func (ps *Problems) addAt(path, hint, format string, args ...any) {
	*ps = append(*ps, Problem{path, fmt.Sprintf(format, args...), hint})
}
