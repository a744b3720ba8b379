package host

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"doze/plugins/hclspec"
)

// decodeSpec makes a spec into HCL's own, as an agent does: with HCL's parser for
// types and literals.
func decodeSpec(s hclspec.Spec) (hcldec.Spec, hcl.Diagnostics) {
	b := specBuilder{}
	out := b.spec(s, "")
	return out, b.diags
}

type specBuilder struct {
	diags hcl.Diagnostics
}

func (b *specBuilder) fail(format string, args ...any) {
	b.diags = append(b.diags, &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: fmt.Sprintf(format, args...)})
}

func (b *specBuilder) spec(s hclspec.Spec, key string) hcldec.Spec {
	switch s := s.(type) {
	case hclspec.Object:
		out := hcldec.ObjectSpec{}
		for key, item := range s {
			out[key] = b.spec(item, key)
		}
		return out
	case hclspec.Array:
		out := hcldec.TupleSpec{}
		for _, item := range s {
			out = append(out, b.spec(item, ""))
		}
		return out
	case hclspec.Attr:
		return &hcldec.AttrSpec{
			Name: b.name(s.Name, key), Type: b.typ(s.Type), Required: s.Required}
	case hclspec.BlockAttrs:
		return &hcldec.BlockAttrsSpec{
			TypeName: b.name(s.Name, key), ElementType: b.typ(s.Type), Required: s.Required}
	case hclspec.Default:
		// The key is not handed down: an agent does not either.
		return &hcldec.DefaultSpec{Primary: b.spec(s.Primary, ""), Default: b.spec(s.Fallback, "")}
	case hclspec.Literal:
		return &hcldec.LiteralSpec{Value: b.literal(string(s))}
	default:
		return b.block(s, key)
	}
}

func (b *specBuilder) block(s hclspec.Spec, key string) hcldec.Spec {
	switch s := s.(type) {
	case hclspec.Block:
		return &hcldec.BlockSpec{
			TypeName: b.name(s.Name, key), Required: s.Required, Nested: b.spec(s.Nested, "")}
	case hclspec.BlockList:
		return &hcldec.BlockListSpec{TypeName: b.name(s.Name, key),
			MinItems: int(s.Min), MaxItems: int(s.Max), Nested: b.spec(s.Nested, "")}
	case hclspec.BlockSet:
		return &hcldec.BlockSetSpec{TypeName: b.name(s.Name, key),
			MinItems: int(s.Min), MaxItems: int(s.Max), Nested: b.spec(s.Nested, "")}
	case hclspec.BlockMap:
		return &hcldec.BlockMapSpec{TypeName: b.name(s.Name, key),
			LabelNames: s.Labels, Nested: b.spec(s.Nested, "")}
	default:
		b.fail("there is no spec for %q", key)
		return &hcldec.LiteralSpec{Value: cty.NilVal}
	}
}

func (b *specBuilder) name(name, key string) string {
	if name == "" {
		name = key
	}
	if name == "" {
		b.fail("a spec needs a name")
	}
	return name
}

func (b *specBuilder) typ(text string) cty.Type {
	expr, diags := hclsyntax.ParseExpression([]byte(text), "type", hcl.InitialPos)
	b.diags = append(b.diags, diags...)
	if diags.HasErrors() {
		return cty.DynamicPseudoType
	}
	typ, diags := typeexpr.TypeConstraint(expr)
	b.diags = append(b.diags, diags...)
	return typ
}

func (b *specBuilder) literal(text string) cty.Value {
	expr, diags := hclsyntax.ParseExpression([]byte(text), "literal", hcl.InitialPos)
	b.diags = append(b.diags, diags...)
	if diags.HasErrors() {
		return cty.NilVal
	}
	value, diags := expr.Value(nil)
	b.diags = append(b.diags, diags...)
	return value
}
