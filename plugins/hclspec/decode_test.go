package hclspec_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/zclconf/go-cty/cty"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"

	"doze/plugins/hclspec"
)

type probe struct {
	Path   string        `hcl:"path"`
	Every  time.Duration `hcl:"every"`
	Status []int         `hcl:"status"`
}

type config struct {
	Command string            `hcl:"command"`
	Args    []string          `hcl:"args"`
	Env     map[string]string `hcl:"env"`
	Freeze  time.Duration     `hcl:"freeze_after"`
	Count   int8              `hcl:"count"`
	Size    uint64            `hcl:"size"`
	Share   float64           `hcl:"share"`
	On      bool              `hcl:"on"`
	Probe   *probe            `hcl:"probe"`
	Probes  map[string]probe  `hcl:"probes"`
	Any     any               `hcl:"any"`
	Kept    string            // no key
}

func encode(t *testing.T, v cty.Value) []byte {
	t.Helper()
	raw, err := ctymsgpack.Marshal(v, v.Type())
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func object(key string, v cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{key: v})
}

func TestDecode_everyKind_fillsTheStruct(t *testing.T) {
	str := cty.StringVal
	raw := encode(t, cty.ObjectVal(map[string]cty.Value{
		"command":      str("web"),
		"args":         cty.ListVal([]cty.Value{str("-a"), str("ü")}),
		"env":          cty.MapVal(map[string]cty.Value{"A": str("b")}),
		"freeze_after": str("1m30s"),
		"count":        cty.NumberIntVal(-5),
		"size":         cty.NumberUIntVal(1 << 63),
		"share":        cty.MustParseNumberVal("0.1"), // sent as a string
		"on":           cty.True,
		"probe": cty.ObjectVal(map[string]cty.Value{"path": str("/"),
			"every": str("5s"), "status": cty.ListVal([]cty.Value{cty.NumberIntVal(200)})}),
		"probes": cty.MapVal(map[string]cty.Value{"http": object("path", str("/x"))}),
		"any":    cty.TupleVal([]cty.Value{cty.True, cty.NumberIntVal(1), str("s")}),
	}))
	got := config{Kept: "kept"}
	if err := hclspec.Decode(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := config{Command: "web", Args: []string{"-a", "ü"}, Env: map[string]string{"A": "b"},
		Freeze: 90 * time.Second, Count: -5, Size: 1 << 63, Share: 0.1, On: true,
		Probe:  &probe{Path: "/", Every: 5 * time.Second, Status: []int{200}},
		Probes: map[string]probe{"http": {Path: "/x"}},
		Any:    []any{true, int64(1), "s"}, Kept: "kept"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it is\n%+v, want\n%+v", got, want)
	}
}

func TestDecode_nullOrMissing_keepsTheDefault(t *testing.T) {
	raw := encode(t, cty.ObjectVal(map[string]cty.Value{
		"command": cty.NullVal(cty.String), "probe": cty.NullVal(cty.EmptyObject),
		"count": cty.NullVal(cty.Number)}))
	got := config{Command: "before", Count: 3, Freeze: time.Second}
	if err := hclspec.Decode(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.Command != "before" || got.Count != 3 || got.Freeze != time.Second || got.Probe != nil {
		t.Errorf("it is %+v", got)
	}
}

func TestDecode_wrongValue_saysWhereAndWhat(t *testing.T) {
	for name, test := range map[string]struct {
		value cty.Value
		want  string
	}{
		"unknown key":   {object("comand", cty.StringVal("x")), "comand: unknown key; known are any, args"},
		"nested key":    {object("probe", object("pth", cty.StringVal("x"))), "probe.pth: unknown key"},
		"in a map":      {object("probes", cty.MapVal(map[string]cty.Value{"h": object("path", cty.True)})), `probes["h"].path: needs a string, not a bool`},
		"in a list":     {object("args", cty.TupleVal([]cty.Value{cty.StringVal("x"), cty.Zero})), "args[1]: needs a string, not a number"},
		"string":        {object("command", cty.Zero), "command: needs a string, not a number"},
		"bool":          {object("on", cty.StringVal("true")), "on: needs a bool, not a string"},
		"list":          {object("args", cty.StringVal("x")), "args: needs a list, not a string"},
		"map":           {object("env", cty.StringVal("x")), "env: needs a map, not a string"},
		"object":        {object("probe", cty.True), "probe: needs an object, not a bool"},
		"number":        {object("count", cty.True), "count: needs a number, not a bool"},
		"number text":   {object("count", cty.StringVal("x")), `count: needs a number, not the string "x"`},
		"long text":     {object("count", cty.StringVal(strings.Repeat("1", 101))), "count: needs a number, not a string"},
		"fraction":      {object("count", cty.NumberFloatVal(1.5)), "count: needs a whole number, not 1.5"},
		"out of range":  {object("count", cty.NumberIntVal(128)), "count: 128 is out of range"},
		"negative":      {object("size", cty.NumberIntVal(-1)), "size: -1 is out of range"},
		"infinite":      {object("share", cty.PositiveInfinity), "share: needs a finite number"},
		"duration":      {object("freeze_after", cty.NumberIntVal(30)), `freeze_after: needs a duration like "30s", not a number`},
		"bad duration":  {object("freeze_after", cty.StringVal("30")), `freeze_after: cannot read "30" as a duration`},
		"not an object": {cty.StringVal("x"), "needs an object, not a string"},
	} {
		var got config
		err := hclspec.Decode(encode(t, test.value), &got)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: it says %v, want %q", name, err, test.want)
		}
	}
}

func TestDecode_manyProblems_areAllTold(t *testing.T) {
	err := hclspec.Decode(encode(t, cty.ObjectVal(map[string]cty.Value{
		"command": cty.Zero, "on": cty.Zero, "args": cty.Zero})), &config{})
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || len(joined.Unwrap()) != 3 {
		t.Errorf("it says %v", err)
	}
}

func TestDecode_brokenBytes_areAnError(t *testing.T) {
	twice := []byte{0x82, 0xa1, 'a', 0xc0, 0xa1, 'a', 0xc0}
	for name, raw := range map[string][]byte{
		"empty": {}, "cut short": {0x81, 0xa7, 'c'}, "left over": {0x80, 0xc0},
		"a key twice": twice, "a key of no string": {0x81, 0x01, 0x01},
		"not UTF-8": {0x81, 0xa1, 0xff, 0xc0}, "unknown value": {0x81, 0xa1, 'a', 0xd4, 0, 0},
		"no code": {0xc1}, "a list that is too long": {0xdd, 0xff, 0xff, 0xff, 0xff},
		"a map that is too long": {0xdf, 0x7f, 0xff, 0xff, 0xff},
		"too deep":               bytes.Repeat([]byte{0x91}, 1<<20),
	} {
		if err := hclspec.Decode(raw, &config{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDecode_notAPointerToAStruct_isAnError(t *testing.T) {
	var none *config
	text := ""
	for _, into := range []any{config{}, none, nil, &text} {
		if err := hclspec.Decode([]byte{0x80}, into); err == nil {
			t.Errorf("it decoded into a %T", into)
		}
	}
	var odd struct {
		Channel chan int       `hcl:"channel"`
		Reader  error          `hcl:"reader"`
		Numbers map[int]string `hcl:"numbers"`
	}
	raw, err := msgpack.Marshal(map[string]any{"channel": 1, "reader": 1, "numbers": map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	err = hclspec.Decode(raw, &odd)
	for _, want := range []string{"chan int", "a field cannot be a error", "map[int]string"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing is said of %s: %v", want, err)
		}
	}
}

// FuzzDecode holds that no bytes crash the decoder, and that what it takes it takes
// again in the same way.
func FuzzDecode(f *testing.F) {
	for _, v := range []cty.Value{object("command", cty.StringVal("x")), object("share", cty.Zero),
		object("any", cty.ListVal([]cty.Value{cty.True})), object("freeze_after", cty.StringVal("1h"))} {
		raw, err := ctymsgpack.Marshal(v, v.Type())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add(bytes.Repeat([]byte{0x91}, 100))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var first, second config
		err := hclspec.Decode(raw, &first)
		if again := hclspec.Decode(raw, &second); (err == nil) != (again == nil) {
			t.Fatalf("at first %v, then %v", err, again)
		}
		if !reflect.DeepEqual(first, second) {
			t.Fatalf("at first %+v, then %+v", first, second)
		}
	})
}
