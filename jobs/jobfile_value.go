package jobs

import (
	"math/big"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// plain turns an HCL value into what Nomad's API would hand out for it: nil, bool, string,
// int64, float64, []any and map[string]any. ok is false for what is unknown.
func plain(v cty.Value) (_ any, ok bool) {
	v, _ = v.UnmarkDeep()
	switch t := v.Type(); {
	case !v.IsWhollyKnown():
		return nil, false
	case v.IsNull():
		return nil, true
	case t == cty.String:
		return v.AsString(), true
	case t == cty.Bool:
		return v.True(), true
	case t == cty.Number:
		return plainNumber(v.AsBigFloat()), true
	case t.IsObjectType(), t.IsMapType():
		return plainMap(v)
	case v.CanIterateElements():
		return plainList(v)
	}
	return nil, false
}

func plainNumber(f *big.Float) any {
	if n, exact := f.Int64(); exact == big.Exact {
		return n
	}
	n, _ := f.Float64()
	return n
}

func plainMap(v cty.Value) (any, bool) {
	m := map[string]any{}
	for key, item := range v.Elements() {
		value, ok := plain(item)
		if !ok {
			return nil, false
		}
		m[key.AsString()] = value
	}
	return m, true
}

func plainList(v cty.Value) (any, bool) {
	list := []any{}
	for _, item := range v.Elements() {
		value, ok := plain(item)
		if !ok {
			return nil, false
		}
		list = append(list, value)
	}
	return list, true
}

// asText returns v as text, "" where it is none.
func asText(v cty.Value) string {
	if s, ok := plain(v); ok {
		text, _ := s.(string)
		return text
	}
	return ""
}

// functions are those of Nomad's job files that need neither files nor chance.
func functions() map[string]function.Function {
	return map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "can": tryfunc.CanFunc, "ceil": stdlib.CeilFunc,
		"chomp": stdlib.ChompFunc, "chunklist": stdlib.ChunklistFunc,
		"coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc,
		"compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc,
		"contains": stdlib.ContainsFunc, "convert": typeexpr.ConvertFunc,
		"csvdecode": stdlib.CSVDecodeFunc, "distinct": stdlib.DistinctFunc,
		"element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc,
		"floor": stdlib.FloorFunc, "format": stdlib.FormatFunc,
		"formatdate": stdlib.FormatDateFunc, "formatlist": stdlib.FormatListFunc,
		"indent": stdlib.IndentFunc, "index": stdlib.IndexFunc, "join": stdlib.JoinFunc,
		"jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"keys": stdlib.KeysFunc, "length": stdlib.LengthFunc, "log": stdlib.LogFunc,
		"lookup": stdlib.LookupFunc, "lower": stdlib.LowerFunc, "max": stdlib.MaxFunc,
		"merge": stdlib.MergeFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc,
		"pow": stdlib.PowFunc, "range": stdlib.RangeFunc, "replace": stdlib.ReplaceFunc,
		"regex_replace": stdlib.RegexReplaceFunc, "reverse": stdlib.ReverseFunc,
		"setintersection": stdlib.SetIntersectionFunc,
		"setproduct":      stdlib.SetProductFunc, "setunion": stdlib.SetUnionFunc,
		"signum": stdlib.SignumFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc,
		"split": stdlib.SplitFunc, "strlen": stdlib.StrlenFunc,
		"strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc,
		"timeadd": stdlib.TimeAddFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc,
		"trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc,
		"trimsuffix": stdlib.TrimSuffixFunc, "try": tryfunc.TryFunc,
		"upper": stdlib.UpperFunc, "values": stdlib.ValuesFunc,
		"zipmap": stdlib.ZipmapFunc,
	}
}
