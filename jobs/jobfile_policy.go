package jobs

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	nomad "github.com/hashicorp/nomad/api"
)

// scaling reads a group's scaling block; of the policy, the doze block alone is evaluated.
func (r *jobReader) scaling(s scoped, at place) *nomad.ScalingPolicy {
	scaling := &nomad.ScalingPolicy{
		Min: r.bound(s, "min", at, 0),
		Max: r.bound(s, "max", at, maxCount),
	}
	if on, ok := r.known(s, "enabled", at).(bool); ok {
		scaling.Enabled = &on
	}
	policy, ok := s.first("policy")
	if !ok {
		return scaling
	}
	at = at.under("policy")
	if body, isSyntax := policy.body.(*hclsyntax.Body); isSyntax {
		scaling.Policy = r.policy(body, policy.scope, at)
		return scaling
	}
	scaling.Policy = map[string]any{}
	attrs, _ := policy.body.JustAttributes()
	for name, attr := range attrs {
		if name == "doze" {
			scaling.Policy[name] = r.tree(attr.Expr, policy.scope, at.under(name))
		} else {
			scaling.Policy[name] = unevaluated{}
		}
	}
	return scaling
}

// bound reads scaling.min or scaling.max. One that cannot be read is reported here and
// taken as fine, so that it is not reported again.
func (r *jobReader) bound(s scoped, name string, at place, fine int64) *int64 {
	v := r.known(s, name, at)
	if v == nil {
		return nil
	}
	n, before := int(fine), len(at.to.found)
	if !absent(v) {
		numberValue{&n, 0, maxCount}.read(at.under(name), v)
	}
	if len(at.to.found) > before {
		return &fine
	}
	return new(int64(n))
}

// known evaluates an attribute of the block at at and reports where it cannot.
func (r *jobReader) known(s scoped, name string, at place) any {
	attr := attribute(s.body, name)
	if attr == nil {
		return nil
	}
	r.mark(at.under(name).path, attr.Range)
	return r.tree(attr.Expr, s.scope, at.under(name))
}

// policy reads the body of a policy block.
func (r *jobReader) policy(body *hclsyntax.Body, scope *hcl.EvalContext, at place) map[string]any {
	read := map[string]any{}
	var doze []any
	for name, attr := range body.Attributes {
		read[name] = unevaluated{}
		if name == "doze" {
			doze = append(doze, r.tree(attr.Expr, scope, at.under(name)))
		}
	}
	for _, b := range body.Blocks {
		if b.Type != "doze" {
			read[b.Type] = unevaluated{}
			r.mark(at.under(b.Type).path, b.DefRange())
			continue
		}
		r.mark(at.under("doze").path, b.DefRange())
		doze = append(doze, r.labelled(b, scope, at.under("doze")))
	}
	if len(doze) > 0 {
		read["doze"] = doze
	}
	return read
}

// body reads a block without knowing its schema, in the shape that Nomad gives it.
func (r *jobReader) body(b *hclsyntax.Body, scope *hcl.EvalContext, at place) map[string]any {
	read := map[string]any{}
	for name, attr := range b.Attributes {
		r.mark(at.under(name).path, attr.Range())
		read[name] = r.tree(attr.Expr, scope, at.under(name))
	}
	number := map[string]int{}
	for _, inner := range b.Blocks {
		number[inner.Type]++
	}
	for _, inner := range b.Blocks {
		here := at.under(inner.Type)
		r.mark(here.path, inner.DefRange())
		list, _ := listOf(read[inner.Type])
		if number[inner.Type] > 1 && len(inner.Labels) == 0 {
			here = here.item(len(list))
			r.mark(here.path, inner.DefRange())
		}
		read[inner.Type] = append(list, r.labelled(inner, scope, here))
	}
	return read
}

// labelled reads a block, below a map for each of its labels.
func (r *jobReader) labelled(b *hclsyntax.Block, scope *hcl.EvalContext, at place) map[string]any {
	for _, label := range b.Labels {
		at = at.under(label)
		r.mark(at.path, b.DefRange())
	}
	read := r.body(b.Body, scope, at)
	for i := len(b.Labels) - 1; i >= 0; i-- {
		read = map[string]any{b.Labels[i]: []any{read}}
	}
	return read
}

// tree evaluates a value item by item, so that each has its own line and its own problem.
func (r *jobReader) tree(e hcl.Expression, scope *hcl.EvalContext, at place) any {
	r.mark(at.path, e.Range())
	if pairs, diags := hcl.ExprMap(e); !diags.HasErrors() {
		read := map[string]any{}
		for _, pair := range pairs {
			if key, diags := pair.Key.Value(scope); !diags.HasErrors() {
				name := asText(key)
				read[name] = r.tree(pair.Value, scope, at.under(name))
			}
		}
		return read
	}
	if items, diags := hcl.ExprList(e); !diags.HasErrors() {
		read := []any{}
		for i, item := range items {
			here := at.item(i)
			if len(items) == 1 {
				if _, diags := hcl.ExprMap(item); !diags.HasErrors() {
					here = at
				}
			}
			read = append(read, r.tree(item, scope, here))
		}
		return read
	}
	return r.leaf(e, scope, at)
}

// leaf evaluates one expression and reports where that cannot be done.
func (r *jobReader) leaf(e hcl.Expression, scope *hcl.EvalContext, at place) any {
	if runtimeOnly(e, scope) != "" {
		return r.source(e)
	}
	if name := undeclaredIn(e, scope); name != "" {
		at.fault(fmt.Sprintf("the file declares no %s", name), "")
		return unevaluated{}
	}
	v, diags := e.Value(scope)
	if diags.HasErrors() {
		problem, _, _ := strings.Cut(diags[0].Detail, " Did you mean")
		at.fault("cannot be evaluated here: "+strings.TrimSuffix(problem, "."),
			"doze check has the functions that need no file")
		return unevaluated{}
	}
	value, ok := plain(v)
	if !ok {
		at.fault(fmt.Sprintf("depends on %s, which has no value here", unknownIn(e, scope)),
			"give the variable a default")
		return unevaluated{}
	}
	return value
}

// source returns an expression as it is written, always with the ${…} around it.
func (r *jobReader) source(e hcl.Expression) string {
	text := strings.Trim(string(e.Range().SliceBytes(r.src)), `"`)
	if strings.Contains(text, "${") {
		return text
	}
	return "${" + text + "}"
}
