package jobs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// scoped is a block with the names its expressions may use: those of the file and, inside
// dynamic blocks, their iterators.
type scoped struct {
	body   hcl.Body
	scope  *hcl.EvalContext
	labels []string
	at     hcl.Range
}

// label returns the block's first label, "" where it has none.
func (s scoped) label() string {
	if len(s.labels) == 0 {
		return ""
	}
	return s.labels[0]
}

// inside returns the blocks of one type in s, dynamic ones written out, and the dynamic
// ones that cannot be because their number is unknown.
func (s scoped) inside(name string, labels ...string) (found, unknown []scoped) {
	for _, b := range blocksIn(s.body, name, labels...) {
		found = append(found, scoped{b.Body, s.scope, b.Labels, b.DefRange})
	}
	for _, b := range blocksIn(s.body, "dynamic", "type") {
		if b.Labels[0] != name {
			continue
		}
		more, ok := s.writeOut(b)
		if !ok {
			unknown = append(unknown, scoped{b.Body, s.scope, b.Labels, b.DefRange})
		}
		found = append(found, more...)
	}
	return found, unknown
}

// first returns the first block of one type in s.
func (s scoped) first(name string) (scoped, bool) {
	found, _ := s.inside(name)
	if len(found) == 0 {
		return scoped{}, false
	}
	return found[0], true
}

// writeOut returns the blocks that a dynamic block stands for.
func (s scoped) writeOut(dynamic *hcl.Block) ([]scoped, bool) {
	each := attribute(dynamic.Body, "for_each")
	contents := blocksIn(dynamic.Body, "content")
	if each == nil || len(contents) != 1 {
		return nil, false
	}
	over, diags := each.Expr.Value(s.scope)
	if diags.HasErrors() || !over.IsWhollyKnown() || !over.CanIterateElements() {
		return nil, false
	}
	iterator := dynamic.Labels[0]
	if attr := attribute(dynamic.Body, "iterator"); attr != nil {
		iterator = hcl.ExprAsKeyword(attr.Expr)
	}
	var found []scoped
	for key, value := range over.Elements() {
		scope := s.scope.NewChild()
		scope.Variables = map[string]cty.Value{
			iterator: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value}),
		}
		b := scoped{contents[0].Body, scope, nil, dynamic.DefRange}
		if attr := attribute(dynamic.Body, "labels"); attr != nil {
			b.labels = labelsFrom(attr.Expr, scope)
		}
		found = append(found, b)
	}
	return found, true
}

func labelsFrom(e hcl.Expression, scope *hcl.EvalContext) []string {
	v, diags := e.Value(scope)
	if diags.HasErrors() || !v.IsWhollyKnown() || !v.CanIterateElements() {
		return nil
	}
	var labels []string
	for _, label := range v.Elements() {
		labels = append(labels, asText(label))
	}
	return labels
}
