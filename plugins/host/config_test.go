package host_test

import (
	"reflect"
	"strings"
	"testing"

	"doze/plugins/hclspec"
	"doze/plugins/host"
)

func schema() hclspec.Spec {
	return hclspec.Object{
		"command": hclspec.Attr{Type: "string", Required: true},
		"args":    hclspec.Attr{Type: "list(string)"},
		"share":   hclspec.Attr{Type: "number"},
		"freeze":  hclspec.Default{Primary: hclspec.Attr{Type: "string"}, Fallback: hclspec.String("${30s}")},
		"on":      hclspec.Default{Primary: hclspec.Attr{Type: "bool"}, Fallback: hclspec.Bool(true)},
		"limits":  hclspec.BlockAttrs{Type: "number"},
		"probe": hclspec.BlockMap{Labels: []string{"kind"}, Nested: hclspec.Object{
			"path": hclspec.Attr{Type: "string"}}},
		"mount": hclspec.BlockList{Max: 2, Nested: hclspec.Object{
			"from": hclspec.Attr{Type: "string"}}},
		"one": hclspec.Block{Nested: hclspec.Object{"x": hclspec.Attr{Type: "any"}}},
	}
}

type decoded struct {
	Command string             `hcl:"command"`
	Args    []string           `hcl:"args"`
	Share   float64            `hcl:"share"`
	Freeze  string             `hcl:"freeze"`
	On      bool               `hcl:"on"`
	Limits  map[string]float64 `hcl:"limits"`
	Probe   map[string]struct {
		Path string `hcl:"path"`
	} `hcl:"probe"`
	Mount []struct {
		From string `hcl:"from"`
	} `hcl:"mount"`
	One *struct {
		X any `hcl:"x"`
	} `hcl:"one"`
}

// What the schema says has to be what HCL makes of it: this goes through HCL's own
// decoder, as in an agent.
func TestEncodeConfig_blockAsTheAPIHasIt_decodesIntoTheStruct(t *testing.T) {
	raw, err := host.EncodeConfig(schema(), map[string]any{
		"command": "${NOMAD_TASK_DIR}/web", "args": []string{"-x"}, "share": 0.1,
		"limits": []map[string]any{{"cpu": 2}},
		"probe":  []map[string]any{{"http": []map[string]any{{"path": "/up"}}}},
		"mount":  []map[string]any{{"from": "a"}, {"from": "b"}},
		"one":    []map[string]any{{"x": "y"}},
	}, map[string]string{"NOMAD_TASK_DIR": "/local"})
	if err != nil {
		t.Fatal(err)
	}
	var got decoded
	if err := hclspec.Decode(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.Command != "/local/web" || !reflect.DeepEqual(got.Args, []string{"-x"}) ||
		got.Share != 0.1 || got.Freeze != "${30s}" || !got.On || got.Limits["cpu"] != 2 ||
		got.Probe["http"].Path != "/up" || len(got.Mount) != 2 || got.Mount[1].From != "b" ||
		got.One == nil || got.One.X != "y" {
		t.Errorf("it is %+v", got)
	}
}

func TestEncodeConfig_blockThatDoesNotFit_isAnError(t *testing.T) {
	for want, config := range map[string]map[string]any{
		`"command" is required`: nil,
		"Extraneous JSON":       {"command": "x", "comand": "y"},
		"a number is required":  {"command": "x", "share": "a lot"},
		"cannot read":           {"command": func() {}},
		"Unknown variable":      {"command": "${NOMAD_NOTHING}"},
	} {
		_, err := host.EncodeConfig(schema(), config, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says %v, want %q", err, want)
		}
	}
}
