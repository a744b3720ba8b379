package wire

import (
	"fmt"

	"doze/plugins/hclspec"
	"doze/plugins/proto/hclspecpb"
)

// FromSpec fills in the names that specs have from the keys of their Object, also
// where Nomad would not do so by itself: inside a Default.
func FromSpec(s hclspec.Spec) *hclspecpb.Spec { return fromSpec(s, "") }

func fromSpec(s hclspec.Spec, key string) *hclspecpb.Spec {
	named := func(name string) string {
		if name == "" {
			return key
		}
		return name
	}
	switch s := s.(type) {
	case hclspec.Object:
		return fromObject(s)
	case hclspec.Array:
		return fromArray(s)
	case hclspec.Attr:
		return &hclspecpb.Spec{Block: &hclspecpb.Spec_Attr{Attr: &hclspecpb.Attr{
			Name: named(s.Name), Type: s.Type, Required: s.Required}}}
	case hclspec.BlockAttrs:
		return &hclspecpb.Spec{Block: &hclspecpb.Spec_BlockAttrs{BlockAttrs: &hclspecpb.BlockAttrs{
			Name: named(s.Name), Type: s.Type, Required: s.Required}}}
	case hclspec.Default:
		return &hclspecpb.Spec{Block: &hclspecpb.Spec_Default{Default: &hclspecpb.Default{
			Primary: fromSpec(s.Primary, key), Default: fromSpec(s.Fallback, key)}}}
	case hclspec.Literal:
		return &hclspecpb.Spec{Block: &hclspecpb.Spec_Literal{
			Literal: &hclspecpb.Literal{Value: string(s)}}}
	default:
		return fromBlock(s, named)
	}
}

func fromObject(s hclspec.Object) *hclspecpb.Spec {
	o := &hclspecpb.Object{Attributes: make(map[string]*hclspecpb.Spec, len(s))}
	for key, item := range s {
		o.Attributes[key] = fromSpec(item, key)
	}
	return &hclspecpb.Spec{Block: &hclspecpb.Spec_Object{Object: o}}
}

func fromArray(s hclspec.Array) *hclspecpb.Spec {
	a := &hclspecpb.Array{}
	for _, item := range s {
		a.Values = append(a.Values, fromSpec(item, ""))
	}
	return &hclspecpb.Spec{Block: &hclspecpb.Spec_Array{Array: a}}
}

func fromBlock(s hclspec.Spec, named func(string) string) *hclspecpb.Spec {
	switch s := s.(type) {
	case hclspec.Block:
		return &hclspecpb.Spec{Block: &hclspecpb.Spec_BlockValue{BlockValue: &hclspecpb.Block{
			Name: named(s.Name), Required: s.Required, Nested: FromSpec(s.Nested)}}}
	case hclspec.BlockList:
		return &hclspecpb.Spec{Block: &hclspecpb.Spec_BlockList{BlockList: &hclspecpb.BlockList{
			Name: named(s.Name), MinItems: s.Min, MaxItems: s.Max, Nested: FromSpec(s.Nested)}}}
	case hclspec.BlockSet:
		return &hclspecpb.Spec{Block: &hclspecpb.Spec_BlockSet{BlockSet: &hclspecpb.BlockSet{
			Name: named(s.Name), MinItems: s.Min, MaxItems: s.Max, Nested: FromSpec(s.Nested)}}}
	case hclspec.BlockMap:
		return &hclspecpb.Spec{Block: &hclspecpb.Spec_BlockMap{BlockMap: &hclspecpb.BlockMap{
			Name: named(s.Name), Labels: s.Labels, Nested: FromSpec(s.Nested)}}}
	default:
		return nil
	}
}

// specDepth bounds how deep a spec from another process may nest.
const specDepth = 100

// ToSpec fails on what no spec of this package means, and returns nil for none.
func ToSpec(pb *hclspecpb.Spec) (hclspec.Spec, error) {
	if pb == nil {
		return nil, nil
	}
	return toSpec(pb, 0)
}

func toSpec(pb *hclspecpb.Spec, depth int) (hclspec.Spec, error) {
	if depth > specDepth {
		return nil, fmt.Errorf("cannot read a spec that nests deeper than %d", specDepth)
	}
	switch b := pb.GetBlock().(type) {
	case *hclspecpb.Spec_Object:
		return toObject(b.Object, depth)
	case *hclspecpb.Spec_Array:
		return toArray(b.Array, depth)
	case *hclspecpb.Spec_Attr:
		a := b.Attr
		return hclspec.Attr{Name: a.GetName(), Type: a.GetType(), Required: a.GetRequired()}, nil
	case *hclspecpb.Spec_BlockAttrs:
		a := b.BlockAttrs
		return hclspec.BlockAttrs{
			Name: a.GetName(), Type: a.GetType(), Required: a.GetRequired()}, nil
	case *hclspecpb.Spec_Literal:
		return hclspec.Literal(b.Literal.GetValue()), nil
	case *hclspecpb.Spec_Default:
		primary, err := toSpec(b.Default.GetPrimary(), depth+1)
		if err != nil {
			return nil, err
		}
		fallback, err := toSpec(b.Default.GetDefault(), depth+1)
		return hclspec.Default{Primary: primary, Fallback: fallback}, err
	default:
		return toBlock(pb, depth)
	}
}

func toObject(pb *hclspecpb.Object, depth int) (hclspec.Spec, error) {
	o := hclspec.Object{}
	for key, item := range pb.GetAttributes() {
		s, err := toSpec(item, depth+1)
		if err != nil {
			return nil, err
		}
		o[key] = s
	}
	return o, nil
}

func toArray(pb *hclspecpb.Array, depth int) (hclspec.Spec, error) {
	var a hclspec.Array
	for _, item := range pb.GetValues() {
		s, err := toSpec(item, depth+1)
		if err != nil {
			return nil, err
		}
		a = append(a, s)
	}
	return a, nil
}

func toBlock(pb *hclspecpb.Spec, depth int) (hclspec.Spec, error) {
	switch b := pb.GetBlock().(type) {
	case *hclspecpb.Spec_BlockValue:
		nested, err := toSpec(b.BlockValue.GetNested(), depth+1)
		return hclspec.Block{Name: b.BlockValue.GetName(),
			Required: b.BlockValue.GetRequired(), Nested: nested}, err
	case *hclspecpb.Spec_BlockList:
		l := b.BlockList
		nested, err := toSpec(l.GetNested(), depth+1)
		return hclspec.BlockList{Name: l.GetName(),
			Min: l.GetMinItems(), Max: l.GetMaxItems(), Nested: nested}, err
	case *hclspecpb.Spec_BlockSet:
		l := b.BlockSet
		nested, err := toSpec(l.GetNested(), depth+1)
		return hclspec.BlockSet{Name: l.GetName(),
			Min: l.GetMinItems(), Max: l.GetMaxItems(), Nested: nested}, err
	case *hclspecpb.Spec_BlockMap:
		nested, err := toSpec(b.BlockMap.GetNested(), depth+1)
		return hclspec.BlockMap{Name: b.BlockMap.GetName(),
			Labels: b.BlockMap.GetLabels(), Nested: nested}, err
	default:
		return nil, fmt.Errorf("cannot read a spec of no known kind")
	}
}
