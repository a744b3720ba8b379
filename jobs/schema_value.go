package jobs

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// longest is more than any duration of a policy needs, and keeps sums from overflowing.
const longest = 366 * 24 * time.Hour

// durationValue is text like "90s" or "1h30m", at least least.
type durationValue struct {
	to    *time.Duration
	least time.Duration
}

func (durationValue) kind() string { return "duration" }

func (d durationValue) read(at place, v any) {
	if n, ok := numberOf(v); ok {
		at.fault("must be a duration as text, not a number",
			fmt.Sprintf("write %q", strconv.FormatFloat(n, 'f', -1, 64)+"s"))
		return
	}
	s, ok := textOf(at, v)
	if !ok {
		return
	}
	parsed, err := time.ParseDuration(s)
	switch {
	case err != nil:
		at.fault(fmt.Sprintf("%q is not a duration", s), durationHint(s))
	case parsed < 0:
		at.fault(fmt.Sprintf("%s is negative", s), "")
	case parsed < d.least:
		at.fault(fmt.Sprintf("%s is too short", s), fmt.Sprintf("at least %s", d.least))
	case parsed > longest:
		at.fault(fmt.Sprintf("%s is too long", s), fmt.Sprintf("at most %s", longest))
	default:
		*d.to = parsed
	}
}

// durationHint says how to write what was probably meant by s.
func durationHint(s string) string {
	s = strings.TrimSpace(s)
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Sprintf("a unit is missing, as in %q", s+"s")
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n < 400 {
			return fmt.Sprintf("there is no unit d; write \"%dh\"", 24*n)
		}
	}
	return `write it as "30s", "5m" or "1h30m"`
}

// numberValue is a whole number from least to most.
type numberValue struct {
	to          *int
	least, most int
}

func (numberValue) kind() string { return "whole number" }

func (n numberValue) read(at place, v any) {
	f, ok := numberOf(v)
	switch {
	case !ok:
		hint := ""
		if s, isText := v.(string); isText && isWhole(s) {
			hint = "leave the quotes out"
		}
		at.fault("must be a whole number, not "+describe(v), hint)
	case f != math.Trunc(f):
		at.fault(fmt.Sprintf("must be a whole number, not %v", f), "")
	case f < float64(n.least):
		at.fault(fmt.Sprintf("%v is too small", f), fmt.Sprintf("at least %d", n.least))
	case f > float64(n.most):
		at.fault(fmt.Sprintf("%v is too large", f), fmt.Sprintf("at most %d", n.most))
	default:
		*n.to = int(f)
	}
}

func isWhole(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// textValue is text, one of choices where there are any, and fit for check where it is set.
type textValue struct {
	to      *string
	choices []string
	check   func(at place, s string)
}

func (t textValue) kind() string {
	if len(t.choices) > 0 {
		return strings.Join(t.choices, ", ")
	}
	return "text"
}

func (t textValue) read(at place, v any) {
	s, ok := textOf(at, v)
	if !ok {
		return
	}
	if len(t.choices) > 0 && !slices.Contains(t.choices, s) {
		at.fault(fmt.Sprintf("%q is not possible here", s), didYouMean(s, t.choices))
		return
	}
	if t.check != nil {
		t.check(at, s)
	}
	*t.to = s
}

// notEmpty is a check of a textValue.
func notEmpty(at place, s string) {
	if s == "" {
		at.fault("is empty", "name it or leave the key out")
	}
}

// flagValue is true or false.
type flagValue struct{ to *bool }

func (flagValue) kind() string { return "true or false" }

func (f flagValue) read(at place, v any) {
	b, ok := v.(bool)
	if !ok {
		at.fault("must be true or false, not "+describe(v), "")
		return
	}
	*f.to = b
}

// textsValue is a list of text; add takes one item and checks it.
type textsValue struct {
	add func(at place, s string)
}

func (textsValue) kind() string { return "list of text" }

func (t textsValue) read(at place, v any) {
	list, ok := listOf(v)
	if s, single := v.(string); single {
		at.fault("must be a list of text, not text", fmt.Sprintf("write [%q]", s))
		return
	}
	if !ok {
		at.fault("must be a list of text, not "+describe(v), "")
		return
	}
	for i, item := range list {
		if item == nil {
			at.item(i).fault("must be text, not null", "")
			continue
		}
		if s, ok := textOf(at.item(i), item); ok {
			t.add(at.item(i), s)
		}
	}
}

// textOf returns v as text, or reports why it is none. Nomad fills in ${…} for tasks only,
// never inside a scaling policy.
func textOf(at place, v any) (string, bool) {
	if absent(v) {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		at.fault("must be text, not "+describe(v), "")
		return "", false
	}
	if strings.Contains(s, "${") {
		at.fault(fmt.Sprintf("%q is not filled in", s),
			"inside scaling.policy only var, local and functions work")
		return "", false
	}
	return s, true
}

// numberOf returns v as a number, whichever Go type it came in.
func numberOf(v any) (float64, bool) {
	if n, ok := v.(json.Number); ok {
		f, err := n.Float64()
		return f, err == nil
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	case r.CanFloat():
		return r.Float(), true
	}
	return 0, false
}

// describe names the kind of a wrong value.
func describe(v any) string {
	if _, ok := numberOf(v); ok {
		return "a number"
	}
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "true or false"
	case map[string]any, []map[string]any:
		return "a block"
	case []any, []string:
		return "a list"
	}
	return fmt.Sprintf("a %T", v)
}
