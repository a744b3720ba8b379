package jobs

import (
	"strings"

	"doze/idle"
)

// Diagnostic is one thing that is wrong with a job, in words for the person who wrote it.
type Diagnostic struct {
	Group   idle.GroupID // Group.Group "": the whole job; the zero ID: the whole file
	Path    string       // `group "web" > scaling > policy > doze > idle_afer`
	Problem string       // what is wrong, `unknown key`
	Hint    string       // what to do about it, "" when there is nothing to say
	Pos     string       // file:line where that is known, "" otherwise
}

// String returns it in one line: `web.nomad.hcl:12: group "web" > … > idle_afer: unknown
// key; did you mean idle_after?`
func (d Diagnostic) String() string {
	var b strings.Builder
	for _, part := range []string{d.Pos, d.Path} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(d.Problem)
	if d.Hint != "" {
		b.WriteString("; " + d.Hint)
	}
	return b.String()
}

// Diagnostics are everything that is wrong, in the order of the file. Empty: nothing is.
type Diagnostics []Diagnostic

// Error returns all of them, a line each; "" when there are none.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// place is where something is being read: it knows its path and collects what is wrong.
type place struct {
	path string
	to   *report
}

// report collects the diagnostics of one group.
type report struct {
	group idle.GroupID
	found Diagnostics
}

// under returns the place of a key below p.
func (p place) under(key string) place {
	if p.path == "" {
		return place{key, p.to}
	}
	return place{p.path + " > " + key, p.to}
}

// fault records one problem at p.
func (p place) fault(problem, hint string) {
	d := Diagnostic{Group: p.to.group, Path: p.path, Problem: problem, Hint: hint}
	p.to.found = append(p.to.found, d)
}
