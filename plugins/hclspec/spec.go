package hclspec

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Spec describes a value to be read from a body of HCL. It is an Object at the
// top, or nil where nothing is to be read at all.
type Spec interface {
	isSpec()
}

// Object is a value with the given keys. The key is also the name to look for in
// the body, for a spec that has none of its own.
type Object map[string]Spec

// Array is a list of values, in this order.
type Array []Spec

// Attr is the value of an attribute, null if it is not there.
type Attr struct {
	Name     string // "": the key in the Object that it stands in
	Type     string // an HCL type: "string", "number", "bool", "list(string)", "map(string)", "any"
	Required bool
}

// Block is the value of a block, null if it is not there.
type Block struct {
	Name     string // "": the key in the Object that it stands in
	Required bool
	Nested   Spec
}

// BlockAttrs is a map of the attributes of a block, whatever they are called.
type BlockAttrs struct {
	Name     string // "": the key in the Object that it stands in
	Type     string // of each attribute
	Required bool
}

// BlockList is a list of the blocks of a name.
type BlockList struct {
	Name     string // "": the key in the Object that it stands in
	Min, Max uint64 // how many; Max 0: any number
	Nested   Spec
}

// BlockSet is a BlockList without order and duplicates.
type BlockSet struct {
	Name     string // "": the key in the Object that it stands in
	Min, Max uint64 // how many; Max 0: any number
	Nested   Spec
}

// BlockMap is a map of the blocks of a name, by their labels: one level of map for
// each label.
type BlockMap struct {
	Name   string   // "": the key in the Object that it stands in
	Labels []string // what each label is, for messages; at least one
	Nested Spec
}

// Default is Primary's value or, if that is null, Fallback's.
type Default struct {
	Primary, Fallback Spec
}

// Literal is the text of an HCL expression, so that a string has its quotes: make
// one with String, Number or Bool.
type Literal string

func (Object) isSpec()     {}
func (Array) isSpec()      {}
func (Attr) isSpec()       {}
func (Block) isSpec()      {}
func (BlockAttrs) isSpec() {}
func (BlockList) isSpec()  {}
func (BlockSet) isSpec()   {}
func (BlockMap) isSpec()   {}
func (Default) isSpec()    {}
func (Literal) isSpec()    {}

// templates are what HCL would read as the beginning of a template.
var templates = strings.NewReplacer("${", "$${", "%{", "%%{")

// String is the literal of a string, in which nothing is interpolated.
func String(s string) Literal {
	quoted, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		quoted = []byte(`""`) // valid UTF-8 always marshals
	}
	return Literal(templates.Replace(string(quoted)))
}

// Bool is the literal of a bool.
func Bool(b bool) Literal { return Literal(strconv.FormatBool(b)) }

// Number is the literal of a number; what is not finite is null.
func Number(f float64) Literal {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "null"
	}
	return Literal(strconv.FormatFloat(f, 'f', -1, 64))
}
