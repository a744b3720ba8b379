package jobs

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	hcljson "github.com/hashicorp/hcl/v2/json"
	nomad "github.com/hashicorp/nomad/api"
)

// readAPI reads a job as Nomad's API takes it. isAPI is false where the file is HCL written
// as JSON, or no JSON at all.
func (f *jobFile) readAPI() (job *nomad.Job, isAPI bool) {
	var top map[string]json.RawMessage
	if json.Unmarshal(f.src, &top) != nil {
		return nil, false
	}
	src := f.src
	inner, wrapped := top["Job"]
	if wrapped {
		src = inner
	} else if top["TaskGroups"] == nil && top["ID"] == nil {
		return nil, false
	}
	if err := json.Unmarshal(src, &job); err != nil {
		f.found = append(f.found, Diagnostic{
			Problem: fmt.Sprintf("this is not a job as Nomad's API takes it: %v", err),
			Pos:     f.at(f.lineAt(err)),
		})
		return nil, true
	}
	if job == nil {
		f.found = append(f.found, Diagnostic{Path: "Job", Problem: "is null"})
		return nil, true
	}
	f.markAPI(wrapped)
	return job, true
}

// lineAt returns the line of a JSON type error in a file that holds the job alone, else 0.
func (f *jobFile) lineAt(err error) int {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Offset > int64(len(f.src)) {
		return 0
	}
	line := 1
	for _, b := range f.src[:wrong.Offset] {
		if b == '\n' {
			line++
		}
	}
	return line
}

// markAPI remembers the lines of an API job. What it cannot find has no line.
func (f *jobFile) markAPI(wrapped bool) {
	file, diags := hcljson.Parse(f.src, f.name)
	if diags.HasErrors() {
		return
	}
	attrs, _ := file.Body.JustAttributes()
	fields := map[string]hcl.Expression{}
	for name, attr := range attrs {
		fields[name] = attr.Expr
	}
	if wrapped {
		fields = f.fieldsOf(fields["Job"])
	}
	f.markField("job > type", fields["Type"])
	f.markField("job > periodic", fields["Periodic"])
	f.markField("job > parameterized", fields["ParameterizedJob"])
	for _, group := range itemsOf(fields["TaskGroups"]) {
		f.markGroup(group)
	}
}

func (f *jobFile) markGroup(group hcl.Expression) {
	fields := f.fieldsOf(group)
	path := GroupShape{}.path()
	if name := fields["Name"]; name != nil {
		if v, diags := name.Value(nil); !diags.HasErrors() {
			path = fmt.Sprintf("group %q", asText(v))
		}
	}
	f.mark(path, group.Range())
	scaling := f.fieldsOf(fields["Scaling"])
	f.markField(path+" > scaling", fields["Scaling"])
	f.markField(path+" > scaling > min", scaling["Min"])
	f.markField(path+" > scaling > max", scaling["Max"])
	if doze := f.fieldsOf(scaling["Policy"])["doze"]; doze != nil {
		f.markTree(path+" > scaling > policy > doze", doze)
	}
}

func (f *jobFile) markField(path string, e hcl.Expression) {
	if e != nil {
		f.mark(path, e.Range())
	}
}

// fieldsOf returns the fields of an object, none for anything else.
func (f *jobFile) fieldsOf(e hcl.Expression) map[string]hcl.Expression {
	fields := map[string]hcl.Expression{}
	if e == nil {
		return fields
	}
	pairs, diags := hcl.ExprMap(e)
	if diags.HasErrors() {
		return fields
	}
	for _, pair := range pairs {
		if key, diags := pair.Key.Value(nil); !diags.HasErrors() {
			fields[asText(key)] = pair.Value
		}
	}
	return fields
}

// itemsOf returns the items of a list, none for anything else.
func itemsOf(e hcl.Expression) []hcl.Expression {
	if e == nil {
		return nil
	}
	items, diags := hcl.ExprList(e)
	if diags.HasErrors() {
		return nil
	}
	return items
}

// markTree remembers the lines of everything in a literal value. A list of one is what it
// holds, as in a Diagnostic's path.
func (f *jobFile) markTree(path string, e hcl.Expression) {
	f.mark(path, e.Range())
	for key, value := range f.fieldsOf(e) {
		f.markTree(path+" > "+key, value)
	}
	items := itemsOf(e)
	for i, item := range items {
		f.markTree(fmt.Sprintf("%s[%d]", path, i), item)
		if len(f.fieldsOf(item)) > 0 {
			f.markTree(path, item)
		}
	}
}
