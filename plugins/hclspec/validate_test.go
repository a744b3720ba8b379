package hclspec_test

import (
	"strings"
	"testing"

	"doze/plugins/hclspec"
)

func TestValidate_everyKindOfSpec_isValid(t *testing.T) {
	spec := hclspec.Object{
		"a": hclspec.Attr{Type: "string", Required: true},
		"b": hclspec.Attr{Name: "other", Type: "object({a = list(string), b=map(any),})"},
		"c": hclspec.Attr{Type: "tuple([string, set(number)])"},
		"l": hclspec.Attr{Type: "object({\n  a = string,\n  b = list(\n    any\n  ),\n})"},
		"d": hclspec.Default{Primary: hclspec.Attr{Type: "bool"}, Fallback: hclspec.Bool(true)},
		"e": hclspec.Block{Nested: hclspec.Object{"x": hclspec.Attr{Type: "any"}}},
		"f": hclspec.BlockAttrs{Type: "string"},
		"g": hclspec.BlockList{Min: 1, Max: 2, Nested: hclspec.Object{}},
		"h": hclspec.BlockSet{Nested: hclspec.Object{}},
		"i": hclspec.BlockMap{Labels: []string{"name"}, Nested: hclspec.Object{}},
		"j": hclspec.Array{hclspec.Literal("[1, 2]"), hclspec.Attr{Name: "k", Type: "string"}},
	}
	if err := hclspec.Validate(spec); err != nil {
		t.Error(err)
	}
	if err := hclspec.Validate(nil); err != nil {
		t.Error(err)
	}
}

func TestValidate_mistake_saysWhereAndWhat(t *testing.T) {
	nested := func(s hclspec.Spec) hclspec.Spec {
		return hclspec.Object{"a": hclspec.Block{Nested: hclspec.Object{"b": s}}}
	}
	deep := hclspec.Spec(hclspec.Literal("1"))
	for range 200 {
		deep = hclspec.Array{deep}
	}
	for want, spec := range map[string]hclspec.Spec{
		`cannot use hclspec.Attr as a whole spec`:     hclspec.Attr{Name: "a", Type: "string"},
		`a.b: cannot read type "strnig": there is no`: nested(hclspec.Attr{Type: "strnig"}),
		`a.b: cannot read type "": a type is missing`: nested(hclspec.Attr{}),
		`cannot read type "list": "(" is missing`:     nested(hclspec.Attr{Type: "list"}),
		`cannot read type "list(string": ")"`:         nested(hclspec.BlockAttrs{Type: "list(string"}),
		`"string" is left over`:                       nested(hclspec.Attr{Type: "bool string"}),
		`a name in an object lacks its '='`:           nested(hclspec.Attr{Type: "object({a string})"}),
		`a name is missing in an object`:              nested(hclspec.Attr{Type: "object({=string})"}),
		`"]" is missing`:                              nested(hclspec.Attr{Type: "tuple([string string])"}),
		`a.b: "x y" cannot be a name`:                 nested(hclspec.Attr{Name: "x y", Type: "any"}),
		`a.b[1]: needs a Name`:                        nested(hclspec.Array{hclspec.Bool(true), hclspec.Attr{Type: "any"}}),
		`a.b: Min 3 is greater than Max 2`:            nested(hclspec.BlockList{Min: 3, Max: 2, Nested: hclspec.Object{}}),
		`a.b: a BlockMap needs at least one label`:    nested(hclspec.BlockMap{Nested: hclspec.Object{}}),
		`a.b: there is no spec here`:                  nested(hclspec.Block{}),
		`a.b (fallback): s30s is a variable`: nested(hclspec.Default{
			Primary: hclspec.Attr{Type: "string"}, Fallback: hclspec.Literal("s30s")}),
		`a.b: a literal is the text`:   nested(hclspec.Literal(" ")),
		`nests deeper than 64`:         nested(deep),
		`cannot read type "list(list(`: nested(hclspec.Attr{Type: strings.Repeat("list(", 100)}),
	} {
		if err := hclspec.Validate(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says %v, want %q", err, want)
		}
	}
}

func TestLiteral_ofAValue_isItsTextInHCL(t *testing.T) {
	for want, got := range map[string]hclspec.Literal{
		`"30s"`: hclspec.String("30s"), `"$${a} %%{b} \"q\" \n"`: hclspec.String("${a} %{b} \"q\" \n"),
		"true": hclspec.Bool(true), "1.5": hclspec.Number(1.5), "100000000000": hclspec.Number(1e11),
	} {
		if string(got) != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
}
