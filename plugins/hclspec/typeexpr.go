package hclspec

import (
	"fmt"
	"slices"
	"strings"
)

// typeText is what is left to read of an HCL type expression.
type typeText struct {
	rest string
}

// checkType says what is wrong with an HCL type expression.
func checkType(text string) error {
	t := typeText{rest: text}
	err := t.typ(0)
	if err == nil && t.rest != "" {
		err = fmt.Errorf("%q is left over", t.rest)
	}
	if err != nil {
		return fmt.Errorf("cannot read type %q: %w", text, err)
	}
	return nil
}

func (t *typeText) typ(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nests deeper than %d", maxDepth)
	}
	name := t.word()
	if slices.Contains([]string{"string", "number", "bool", "any"}, name) {
		return nil
	}
	switch name {
	case "list", "set", "map":
		return t.within("(", ")", func() error { return t.typ(depth + 1) })
	case "object":
		return t.within("(", ")", func() error {
			return t.items("{", "}", func() error { return t.field(depth + 1) })
		})
	case "tuple":
		return t.within("(", ")", func() error {
			return t.items("[", "]", func() error { return t.typ(depth + 1) })
		})
	case "":
		return fmt.Errorf("a type is missing")
	default:
		return fmt.Errorf("there is no type %q", name)
	}
}

func (t *typeText) field(depth int) error {
	if !identifier.MatchString(t.word()) {
		return fmt.Errorf("a name is missing in an object")
	}
	if !t.skip("=") {
		return fmt.Errorf("a name in an object lacks its '='")
	}
	return t.typ(depth)
}

// within reads what stands between two brackets.
func (t *typeText) within(open, end string, inner func() error) error {
	if !t.skip(open) {
		return fmt.Errorf("%q is missing", open)
	}
	if err := inner(); err != nil {
		return err
	}
	if !t.skip(end) {
		return fmt.Errorf("%q is missing", end)
	}
	return nil
}

// items reads any number of things between brackets, with commas.
func (t *typeText) items(open, end string, item func() error) error {
	if !t.skip(open) {
		return fmt.Errorf("%q is missing", open)
	}
	for !t.skip(end) {
		if err := item(); err != nil {
			return err
		}
		if !t.skip(",") && !strings.HasPrefix(t.rest, end) {
			return fmt.Errorf("%q is missing", end)
		}
	}
	return nil
}

func (t *typeText) word() string {
	t.space()
	end := strings.IndexFunc(t.rest, func(r rune) bool {
		return !strings.ContainsRune("_-", r) && (r < '0' || r > '9') &&
			(r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		end = len(t.rest)
	}
	word := t.rest[:end]
	t.rest = t.rest[end:]
	t.space()
	return word
}

func (t *typeText) skip(s string) bool {
	t.space()
	rest, ok := strings.CutPrefix(t.rest, s)
	t.rest = rest
	t.space()
	return ok
}

func (t *typeText) space() { t.rest = strings.TrimLeft(t.rest, " \t\r\n") }
