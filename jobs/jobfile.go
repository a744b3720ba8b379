package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	nomad "github.com/hashicorp/nomad/api"
)

// File is a job file to check.
type File struct {
	Name   string // for messages
	Source []byte
}

// CheckFiles is CheckFile for several files, which also reports two groups that claim one
// route.
func CheckFiles(files []File) ([]Managed, Diagnostics) {
	var managed []Managed
	var found Diagnostics
	for _, file := range files {
		ms, problems := CheckFile(file.Name, file.Source)
		managed = append(managed, ms...)
		found = append(found, problems...)
	}
	return managed, append(found, CheckRoutes(managed)...)
}

// CheckFile reads one job file offline, HCL or JSON (as Nomad's API takes it, with or without
// {"Job":…} around, or HCL written as JSON), and returns the groups in it that opted in and
// everything that is wrong with them. Of the rest of the job only what Doze has to know is
// read. name is used in messages.
func CheckFile(name string, src []byte) ([]Managed, Diagnostics) {
	f := &jobFile{name: name, src: src, lines: map[string]int{}}
	if problem := tooMuch(src); problem != "" {
		return nil, Diagnostics{{Problem: problem, Pos: name}}
	}
	job := f.read()
	if job == nil {
		return nil, f.sorted()
	}
	var managed []Managed
	for _, tg := range job.TaskGroups {
		if tg == nil {
			continue
		}
		shape := ShapeOf(job, tg)
		m, problems := ReadGroup(job, tg)
		f.found = append(f.found, problems...)
		if m != nil && !f.faulty(shape) {
			m.Pos = f.pos(shape.path() + " > scaling > policy > doze")
			managed = append(managed, *m)
		}
	}
	return managed, f.sorted()
}

// jobFile is a job file being read: where its parts are and what is wrong with it.
type jobFile struct {
	name  string
	src   []byte
	lines map[string]int // the line of a Diagnostic's path
	found Diagnostics
}

// read returns what the file says of its job, nil where it cannot be read.
func (f *jobFile) read() *nomad.Job {
	if !strings.HasPrefix(strings.TrimLeft(string(f.src), " \t\r\n\ufeff"), "{") {
		file, diags := hclsyntax.ParseConfig(f.src, f.name, hcl.InitialPos)
		return f.readBody(file, diags)
	}
	if job, isAPI := f.readAPI(); isAPI {
		return job
	}
	file, diags := hcljson.Parse(f.src, f.name)
	return f.readBody(file, diags)
}

func (f *jobFile) readBody(file *hcl.File, diags hcl.Diagnostics) *nomad.Job {
	if diags.HasErrors() {
		f.reject(diags)
		return nil
	}
	return newJobReader(f, file.Body).job(file.Body)
}

// reject takes over the errors of the HCL parser.
func (f *jobFile) reject(diags hcl.Diagnostics) {
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		line := 0
		if d.Subject != nil {
			line = d.Subject.Start.Line
		}
		f.found = append(f.found, Diagnostic{
			Problem: d.Summary, Hint: strings.TrimSuffix(d.Detail, "."), Pos: f.at(line),
		})
	}
}

// faulty reports whether something in the group could not be read.
func (f *jobFile) faulty(g GroupShape) bool {
	return slices.ContainsFunc(f.found, func(d Diagnostic) bool { return d.Group == g.ID })
}

// mark remembers the line of a path; the first one stays.
func (f *jobFile) mark(path string, at hcl.Range) {
	if _, known := f.lines[path]; !known {
		f.lines[path] = at.Start.Line
	}
}

// line returns the line of a path, or of the nearest part of the file around it.
func (f *jobFile) line(path string) int {
	for path != "" {
		if line, known := f.lines[path]; known {
			return line
		}
		path = path[:max(0, strings.LastIndex(path, "["), strings.LastIndex(path, " > "))]
	}
	return 0
}

func (f *jobFile) pos(path string) string { return f.at(f.line(path)) }

// at returns file:line, the file alone for line 0.
func (f *jobFile) at(line int) string {
	if line == 0 {
		return f.name
	}
	return fmt.Sprintf("%s:%d", f.name, line)
}

// sorted returns what was found in the order of the file.
func (f *jobFile) sorted() Diagnostics {
	for i, d := range f.found {
		if d.Pos == "" {
			f.found[i].Pos = f.pos(d.Path)
		}
	}
	slices.SortStableFunc(f.found, func(a, b Diagnostic) int {
		return cmp.Compare(f.line(a.Path), f.line(b.Path))
	})
	return f.found
}
