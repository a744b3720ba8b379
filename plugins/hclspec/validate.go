package hclspec

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// maxDepth bounds how deep a spec, a type or a configuration nests.
const maxDepth = 64

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	bareWord   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
)

// Validate returns every problem that would make an agent refuse the plugin, each
// with the place in the spec. It knows the types that HCL does; of a Literal it
// only checks that it is not a string that lacks its quotes.
func Validate(s Spec) error {
	if s == nil {
		return nil
	}
	if _, ok := s.(Object); !ok {
		return fmt.Errorf("cannot use %T as a whole spec: it has to be an Object", s)
	}
	v := validator{}
	v.spec(s, place{})
	return errors.Join(v.errs...)
}

// place is where in a spec something stands.
type place struct {
	path  string
	key   string // the Object's key that gives a name, "": none does
	depth int
}

func (p place) down(step, key string) place {
	return place{path: p.path + step, key: key, depth: p.depth + 1}
}

type validator struct {
	errs []error
}

func (v *validator) fail(p place, format string, args ...any) {
	path := strings.TrimPrefix(p.path, ".")
	v.errs = append(v.errs, fmt.Errorf("%s: %w", path, fmt.Errorf(format, args...)))
}

func (v *validator) spec(s Spec, p place) {
	if p.depth > maxDepth {
		v.fail(p, "nests deeper than %d", maxDepth)
		return
	}
	switch s := s.(type) {
	case Object:
		v.object(s, p)
	case Array:
		for i, item := range s {
			v.spec(item, p.down(fmt.Sprintf("[%d]", i), ""))
		}
	case Attr:
		v.name(s.Name, p)
		v.typ(s.Type, p)
	case BlockAttrs:
		v.name(s.Name, p)
		v.typ(s.Type, p)
	case Default:
		v.spec(s.Primary, p.down("", p.key))
		v.spec(s.Fallback, p.down(" (fallback)", p.key))
	case Literal:
		v.literal(string(s), p)
	default:
		v.block(s, p)
	}
}

func (v *validator) object(o Object, p place) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		v.spec(o[key], p.down("."+key, key))
	}
}

func (v *validator) block(s Spec, p place) {
	switch s := s.(type) {
	case Block:
		v.name(s.Name, p)
		v.spec(s.Nested, p.down("", ""))
	case BlockList:
		v.name(s.Name, p)
		v.bounds(s.Min, s.Max, p)
		v.spec(s.Nested, p.down("[]", ""))
	case BlockSet:
		v.name(s.Name, p)
		v.bounds(s.Min, s.Max, p)
		v.spec(s.Nested, p.down("[]", ""))
	case BlockMap:
		v.name(s.Name, p)
		if len(s.Labels) == 0 {
			v.fail(p, "a BlockMap needs at least one label")
		}
		v.spec(s.Nested, p.down("{}", ""))
	case nil:
		v.fail(p, "there is no spec here")
	}
}

func (v *validator) name(name string, p place) {
	if name == "" {
		name = p.key
	}
	if name == "" {
		v.fail(p, "needs a Name: it does not stand under a key of an Object")
	} else if !identifier.MatchString(name) {
		v.fail(p, "%q cannot be a name in HCL", name)
	}
}

func (v *validator) bounds(low, high uint64, p place) {
	if high != 0 && low > high {
		v.fail(p, "Min %d is greater than Max %d", low, high)
	}
}

func (v *validator) typ(text string, p place) {
	if err := checkType(text); err != nil {
		v.fail(p, "%w", err)
	}
}

func (v *validator) literal(text string, p place) {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		v.fail(p, "a literal is the text of an expression: this one is empty")
	case slices.Contains([]string{"true", "false", "null"}, trimmed):
	case bareWord.MatchString(trimmed):
		v.fail(p, "%s is a variable in HCL: for a string, use String(%q)", trimmed, trimmed)
	}
}
