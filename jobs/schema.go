package jobs

import (
	"fmt"
	"maps"
	"slices"
)

// setting is one key of a block: what it is called, how its value is read and where that
// goes, and what the reference says about it.
type setting struct {
	name  string
	value value
	def   string // the default in words
	doc   string
}

// schema is all that a block may hold, in the order of the reference.
type schema []setting

// value reads one kind of value. A value that is wrong leaves the default and is reported.
type value interface {
	kind() string // "duration", "whole number", …
	read(at place, v any)
}

// unevaluated stands for a value that a job file could not give; that has been reported
// already, so it is taken as present and never as wrong.
type unevaluated struct{}

// absent reports whether there is nothing to read in v.
func absent(v any) bool {
	_, skipped := v.(unevaluated)
	return v == nil || skipped
}

// read reads every setting of s from a block and reports the keys that are not in s.
func (s schema) read(b block) {
	for _, known := range s {
		if v := b.keys[known.name]; !absent(v) {
			known.value.read(b.at.under(known.name), v)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.keys)) {
		if !slices.Contains(s.names(), key) {
			b.at.under(key).fault("unknown key", s.hint(key))
		}
	}
}

// names returns the keys of s in order.
func (s schema) names() []string {
	names := make([]string, len(s))
	for i, known := range s {
		names[i] = known.name
	}
	return names
}

// hint says what to write in place of an unknown key.
func (s schema) hint(key string) string {
	if key == "dynamic" {
		return "Nomad does not expand dynamic blocks inside scaling.policy; write them out"
	}
	if kind := probeKindOf(key); kind != "" && s.hasProbeKeys() {
		return fmt.Sprintf("it belongs to probe %q", kind)
	}
	return didYouMean(key, s.names())
}

// block is one block of a policy as Nomad's API returns it.
type block struct {
	at   place
	keys map[string]any
}

// blocksOf reads v as one or more blocks: a list of maps, as the API returns a block, or a
// single map, as a JSON job may write it. Several are told apart by an index in the path.
func blocksOf(at place, v any) []block {
	list, ok := listOf(v)
	if !ok {
		list = []any{v}
	}
	var blocks []block
	for i, item := range list {
		here := at
		if len(list) > 1 {
			here = at.item(i)
		}
		switch keys := item.(type) {
		case map[string]any:
			blocks = append(blocks, block{here, keys})
		case unevaluated:
		default:
			here.fault(fmt.Sprintf("must be a block, not %s", describe(item)), "")
		}
	}
	return blocks
}

// oneBlock reads v as exactly one block. What it returns has a place in any case.
func oneBlock(at place, v any) (block, bool) {
	blocks := blocksOf(at, v)
	if len(blocks) > 1 {
		at.fault(fmt.Sprintf("there are %d of these blocks", len(blocks)), "keep one")
	}
	if len(blocks) == 0 {
		return block{at: at}, false
	}
	return blocks[0], true
}

// listOf returns the items of a list in whichever Go type it came.
func listOf(v any) ([]any, bool) {
	switch list := v.(type) {
	case []any:
		return list, true
	case []map[string]any:
		items := make([]any, len(list))
		for i, m := range list {
			items[i] = m
		}
		return items, true
	case []string:
		items := make([]any, len(list))
		for i, s := range list {
			items[i] = s
		}
		return items, true
	}
	return nil, false
}

// item returns the place of the i-th item, counted from 0, of the list at p.
func (p place) item(i int) place {
	return place{fmt.Sprintf("%s[%d]", p.path, i), p.to}
}
