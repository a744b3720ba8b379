package host_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"doze/plugins/hclspec"
	"doze/plugins/host"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/hclspecpb"
)

// FuzzSpec holds that no spec from another process crashes a host, and that what Validate
// takes, HCL takes too: an agent refuses to start with a plugin whose spec it cannot use. Only
// literals are HCL's own affair, which a plugin would need all of HCL to read.
func FuzzSpec(f *testing.F) {
	for _, s := range []hclspec.Spec{schema(), hclspec.Object{}, hclspec.Attr{Name: "a", Type: "any"},
		hclspec.Object{"a": hclspec.Attr{Type: "object({a=list(string),b=tuple([bool])})"},
			"b": hclspec.Default{Primary: hclspec.Attr{Type: "map(number)"}, Fallback: hclspec.Literal("{}")},
			"c": hclspec.Array{hclspec.String("${x} %{y}"), hclspec.Number(-1e300)}}} {
		raw, err := proto.Marshal(wire.FromSpec(s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		pb := &hclspecpb.Spec{}
		if proto.Unmarshal(raw, pb) != nil {
			return // gRPC refuses it before anybody is asked
		}
		spec, err := wire.ToSpec(pb)
		if err != nil {
			return
		}
		valid := hclspec.Validate(spec) == nil
		_, err = host.EncodeConfig(spec, nil, nil)
		if valid && err != nil && strings.Contains(err.Error(), "cannot use the schema") &&
			!strings.Contains(err.Error(), "literal:") {
			t.Errorf("Validate takes %v, but %v", spec, err)
		}
	})
}

// FuzzType holds that no text crashes the reader of types, or makes it read on, and that the
// types it takes are types to HCL.
func FuzzType(f *testing.F) {
	for _, text := range []string{"string", "list(map(any))", " set ( bool ) ",
		"object({a=string,b=tuple([bool])})", "tuple([])", "object({})", "list(string", "list\n(string)", "list(\nstring\n)",
		"object({\na=string\n})", "object({a\n=string})", "string\n", "\nstring", "string\u00a0", "string\r", "string\r\n", "list\r(any)",
		"object({a=\nstring})", "object({a=string\n,b=bool})", "tuple([\nany\n,\nany\n])", "list(string,)", "map (any)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec := hclspec.Object{"a": hclspec.Attr{Type: text}}
		if hclspec.Validate(spec) != nil {
			return
		}
		if _, err := host.EncodeConfig(spec, nil, nil); err != nil {
			t.Errorf("Validate takes the type %q, but %v", text, err)
		}
	})
}
