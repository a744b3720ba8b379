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
	t := typeText{rest: strings.Trim(text, " \t\n")}
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
	if !t.skip("=") || strings.HasPrefix(t.rest, "\n") {
		return fmt.Errorf("a name in an object lacks its '=', or has no type in its line")
	}
	return t.typ(depth)
}

// within reads what stands between two brackets.
func (t *typeText) within(open, end string, inner func() error) error {
	if !t.skip(open) {
		return fmt.Errorf("%q is missing", open)
	}
	t.lines()
	if err := inner(); err != nil {
		return err
	}
	t.lines()
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
	t.lines()
	for !t.skip(end) {
		if err := item(); err != nil {
			return err
		}
		comma := t.skip(",")
		t.lines()
		if !comma && !strings.HasPrefix(t.rest, end) {
			return fmt.Errorf("%q is missing", end)
		}
	}
	return nil
}

func (t *typeText) word() string {
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
	rest, ok := strings.CutPrefix(t.rest, s)
	t.rest = rest
	t.space()
	return ok
}

// space skips what may stand between any two words; lines also ends of lines, which HCL takes
// only where it would not see the end of something in them.
func (t *typeText) space() { t.rest = strings.TrimLeft(t.rest, " \t") }

func (t *typeText) lines() { t.rest = strings.TrimLeft(t.rest, " \t\n") }
