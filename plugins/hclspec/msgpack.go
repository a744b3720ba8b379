package hclspec

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// reader reads one configuration into nil, bool, int64, uint64, float64, string,
// []any and map[string]any.
type reader struct {
	dec  *msgpack.Decoder
	left *bytes.Reader // what is not yet read
}

// read reads raw whole. Nothing that it allocates is out of proportion to raw.
func read(raw []byte) (any, error) {
	left := bytes.NewReader(raw)
	r := reader{dec: msgpack.NewDecoder(left), left: left}
	v, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if left.Len() > 0 {
		return nil, fmt.Errorf("%d bytes are left over", left.Len())
	}
	return v, nil
}

func (r *reader) value(depth int) (any, error) {
	code, err := r.dec.PeekCode()
	if err != nil {
		return nil, fmt.Errorf("it is cut short: %w", err)
	}
	switch {
	case depth > maxDepth:
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
	case code == msgpcode.Nil:
		return nil, r.dec.DecodeNil()
	case code == msgpcode.False || code == msgpcode.True:
		return r.dec.DecodeBool()
	case msgpcode.IsString(code) || msgpcode.IsBin(code):
		return r.text()
	case code == msgpcode.Float || code == msgpcode.Double:
		return r.dec.DecodeFloat64()
	case code == msgpcode.Uint64:
		return r.dec.DecodeUint64()
	case msgpcode.IsFixedNum(code) || code >= msgpcode.Uint8 && code <= msgpcode.Int64:
		return r.dec.DecodeInt64()
	case msgpcode.IsFixedArray(code) || code == msgpcode.Array16 || code == msgpcode.Array32:
		return r.list(depth)
	case msgpcode.IsFixedMap(code) || code == msgpcode.Map16 || code == msgpcode.Map32:
		return r.dict(depth)
	case msgpcode.IsExt(code):
		return nil, errors.New("it holds a value that is not known yet")
	default:
		return nil, fmt.Errorf("no value begins with the byte %#x", code)
	}
}

func (r *reader) text() (any, error) {
	s, err := r.dec.DecodeString()
	if err != nil {
		return nil, fmt.Errorf("a string is cut short: %w", err)
	}
	if !utf8.ValidString(s) {
		return nil, errors.New("a string in it is not UTF-8")
	}
	return s, nil
}

func (r *reader) list(depth int) (any, error) {
	n, err := r.dec.DecodeArrayLen()
	if err != nil || n > r.left.Len() { // an item takes a byte at least
		return nil, errors.New("a list is cut short")
	}
	list := make([]any, 0, min(n, math.MaxUint16))
	for range n {
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

func (r *reader) dict(depth int) (any, error) {
	n, err := r.dec.DecodeMapLen()
	if err != nil || n > r.left.Len()/2 { // a key and a value
		return nil, errors.New("a map is cut short")
	}
	dict := make(map[string]any, min(n, math.MaxUint16))
	for range n {
		key, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("a key of a map is %s, not a string", kindOf(key))
		}
		if _, twice := dict[name]; twice {
			return nil, fmt.Errorf("the key %q is there twice", name)
		}
		if dict[name], err = r.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

// kindOf names what was read, in HCL's words.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a bool"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "a number"
	}
}
