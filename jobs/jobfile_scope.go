package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// newScope returns what expressions of a job file may refer to: var, local and functions. A
// variable without a default is there, but unknown.
func newScope(body hcl.Body) *hcl.EvalContext {
	scope := &hcl.EvalContext{Functions: functions()}
	scope.Variables = map[string]cty.Value{"var": cty.ObjectVal(variablesOf(body))}
	scope.Variables["local"] = cty.ObjectVal(localsOf(body, scope))
	return scope
}

// variablesOf returns the defaults of all variable blocks.
func variablesOf(body hcl.Body) map[string]cty.Value {
	vars := map[string]cty.Value{}
	for _, b := range blocksIn(body, "variable", "name") {
		vars[b.Labels[0]] = cty.DynamicVal
		if def := attribute(b.Body, "default"); def != nil {
			if v, diags := def.Expr.Value(nil); !diags.HasErrors() {
				vars[b.Labels[0]] = typed(b.Body, v)
			}
		}
	}
	for _, b := range blocksIn(body, "variables") {
		attrs, _ := b.Body.JustAttributes()
		for name, attr := range attrs {
			vars[name] = cty.DynamicVal
			if v, diags := attr.Expr.Value(nil); !diags.HasErrors() {
				vars[name] = v
			}
		}
	}
	return vars
}

// typed converts a default to its variable's type, where that is given and fits.
func typed(variable hcl.Body, v cty.Value) cty.Value {
	attr := attribute(variable, "type")
	if attr == nil {
		return v
	}
	want, diags := typeexpr.TypeConstraint(attr.Expr)
	if diags.HasErrors() {
		return v
	}
	if converted, err := convert.Convert(v, want); err == nil {
		return converted
	}
	return v
}

// localsOf evaluates the locals, which may refer to each other in any order. One that
// cannot be evaluated is unknown.
func localsOf(body hcl.Body, scope *hcl.EvalContext) map[string]cty.Value {
	waiting := map[string]*hcl.Attribute{}
	for _, b := range blocksIn(body, "locals") {
		attrs, _ := b.Body.JustAttributes()
		maps.Copy(waiting, attrs)
	}
	known := map[string]cty.Value{}
	for progress := true; progress; {
		progress = false
		scope.Variables["local"] = cty.ObjectVal(known)
		for name, attr := range waiting {
			if v, diags := attr.Expr.Value(scope); !diags.HasErrors() {
				known[name], progress = v, true
				delete(waiting, name)
			}
		}
	}
	for name := range waiting {
		known[name] = cty.DynamicVal
	}
	return known
}

// blocksIn returns the blocks of one type, in order; those with a wrong number of labels are
// Nomad's to report.
func blocksIn(body hcl.Body, name string, labels ...string) hcl.Blocks {
	content, _, _ := body.PartialContent(&hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{{Type: name, LabelNames: labels}},
	})
	if content == nil {
		return nil
	}
	return content.Blocks
}

// attribute returns an attribute of a body, nil where it has none of that name.
func attribute(body hcl.Body, name string) *hcl.Attribute {
	content, _, _ := body.PartialContent(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: name}},
	})
	if content == nil {
		return nil
	}
	return content.Attributes[name]
}

// runtimeOnly returns the name in an expression that only a running task has, such as
// NOMAD_ALLOC_ID or attr.kernel.name; "" for none. Nomad leaves such an expression as text.
func runtimeOnly(e hcl.Expression, scope *hcl.EvalContext) string {
	for _, t := range e.Variables() {
		if !inScope(t.RootName(), scope) {
			return t.RootName()
		}
	}
	return ""
}

func inScope(name string, scope *hcl.EvalContext) bool {
	for ; scope != nil; scope = scope.Parent() {
		if _, ok := scope.Variables[name]; ok {
			return true
		}
	}
	return false
}

// undeclaredIn returns the first variable or local in an expression that the file does not
// declare, "" for none.
func undeclaredIn(e hcl.Expression, scope *hcl.EvalContext) string {
	for _, t := range e.Variables() {
		root, step := t.RootName(), nameOf(t)
		if root != "var" && root != "local" || step == root {
			continue
		}
		if _, diags := t[:2].TraverseAbs(scope); diags.HasErrors() {
			return step
		}
	}
	return ""
}

// unknownIn names the variables and locals that leave an expression unknown.
func unknownIn(e hcl.Expression, scope *hcl.EvalContext) string {
	var names []string
	for _, t := range e.Variables() {
		if v, diags := t.TraverseAbs(scope); diags.HasErrors() || !v.IsWhollyKnown() {
			names = append(names, nameOf(t))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// nameOf writes the first two steps of a traversal, var.host.
func nameOf(t hcl.Traversal) string {
	name := t.RootName()
	if len(t) > 1 {
		if step, ok := t[1].(hcl.TraverseAttr); ok {
			name = fmt.Sprintf("%s.%s", name, step.Name)
		}
	}
	return name
}
