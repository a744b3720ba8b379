package hclspec

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Decode reads a configuration in msgpack, as Nomad sends it, into the struct that
// the pointer points to. A field takes the key in its tag, `hcl:"name"`; fields
// without a tag are left alone, as are fields whose value is null or not there: what
// they held is their default.
//
// A field may be a string, a bool, a number, a time.Duration (of a string like
// "30s"), a slice, a map with string keys, a struct, a pointer to one of these (nil:
// null) or any. Nothing is converted silently: a key without a field, a fraction for
// an integer, a number out of range are errors, all joined, each with its place.
// Nomad sends a number with no exact binary form, like 0.1, as a string: a field that
// is a number takes that too.
func Decode(raw []byte, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() ||
		target.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("cannot decode a configuration into %T: "+
			"it has to be a pointer to a struct", into)
	}
	v, err := read(raw)
	if err != nil {
		return fmt.Errorf("cannot read the configuration: %w", err)
	}
	a := assigner{}
	a.value(v, target.Elem(), "")
	return errors.Join(a.errs...)
}

// assigner puts what was read into Go values.
type assigner struct {
	errs []error
}

func (a *assigner) fail(path, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if path != "" {
		err = fmt.Errorf("%s: %w", strings.TrimPrefix(path, "."), err)
	}
	a.errs = append(a.errs, err)
}

func (a *assigner) value(v any, to reflect.Value, path string) {
	if v == nil {
		return
	}
	if to.Type() == reflect.TypeFor[time.Duration]() {
		a.duration(v, to, path)
		return
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		a.value(v, to.Elem(), path)
	case reflect.Struct:
		a.object(v, to, path)
	case reflect.Map:
		a.dict(v, to, path)
	case reflect.Slice:
		a.list(v, to, path)
	case reflect.Interface:
		if to.NumMethod() > 0 {
			a.fail(path, "a field cannot be a %s", to.Type())
			return
		}
		to.Set(reflect.ValueOf(v))
	default:
		a.scalar(v, to, path)
	}
}

func (a *assigner) object(v any, to reflect.Value, path string) {
	dict, ok := v.(map[string]any)
	if !ok {
		a.fail(path, "needs an object, not %s", kindOf(v))
		return
	}
	fields := map[string]reflect.Value{}
	for field, value := range to.Fields() {
		if name := field.Tag.Get("hcl"); name != "" && field.IsExported() {
			fields[name] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		field, ok := fields[key]
		if !ok {
			a.fail(path+"."+key, "unknown key; known are %s",
				strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
			continue
		}
		a.value(dict[key], field, path+"."+key)
	}
}

func (a *assigner) dict(v any, to reflect.Value, path string) {
	dict, ok := v.(map[string]any)
	if !ok {
		a.fail(path, "needs a map, not %s", kindOf(v))
		return
	}
	if to.Type().Key().Kind() != reflect.String {
		a.fail(path, "a field cannot be a %s: its keys have to be strings", to.Type())
		return
	}
	out := reflect.MakeMapWithSize(to.Type(), len(dict))
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		item := reflect.New(to.Type().Elem()).Elem()
		a.value(dict[key], item, fmt.Sprintf("%s[%q]", path, key))
		out.SetMapIndex(reflect.ValueOf(key).Convert(to.Type().Key()), item)
	}
	to.Set(out)
}

func (a *assigner) list(v any, to reflect.Value, path string) {
	list, ok := v.([]any)
	if !ok {
		a.fail(path, "needs a list, not %s", kindOf(v))
		return
	}
	out := reflect.MakeSlice(to.Type(), len(list), len(list))
	for i, item := range list {
		a.value(item, out.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	to.Set(out)
}

func (a *assigner) duration(v any, to reflect.Value, path string) {
	text, ok := v.(string)
	if !ok {
		a.fail(path, "needs a duration like \"30s\", not %s", kindOf(v))
		return
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		a.fail(path, "cannot read %q as a duration: it has to be like \"30s\" or \"1h30m\"", text)
		return
	}
	to.SetInt(int64(d))
}
