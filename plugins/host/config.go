package host

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"

	"doze/plugins/hclspec"
	"doze/plugins/internal/wire"
)

// EncodeConfig makes a `config` block, in the shape that Nomad's API has it in, into
// what Nomad sends to a plugin: read by the spec, interpolated from the variables
// (by their whole names: "NOMAD_TASK_DIR"), in msgpack. Blocks are lists of maps in
// it, or maps.
func EncodeConfig(
	spec hclspec.Spec, config map[string]any, vars map[string]string,
) ([]byte, error) {
	spec, err := wire.ToSpec(wire.FromSpec(spec)) // as the agent has it, with all names
	if err != nil {
		return nil, err
	}
	how, diags := decodeSpec(spec)
	if diags.HasErrors() {
		return nil, fmt.Errorf("cannot use the schema: %w", diags)
	}
	if config == nil {
		config = map[string]any{}
	}
	src, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("cannot read the config block: %w", err)
	}
	file, diags := hcljson.Parse(src, "config")
	if diags.HasErrors() {
		return nil, fmt.Errorf("cannot read the config block: %w", diags)
	}
	scope := &hcl.EvalContext{Variables: map[string]cty.Value{}}
	for name, value := range vars {
		scope.Variables[name] = cty.StringVal(value)
	}
	value, diags := hcldec.Decode(file.Body, how, scope)
	if diags.HasErrors() {
		return nil, fmt.Errorf("cannot use the config block: %w", diags)
	}
	raw, err := msgpack.Marshal(value, value.Type())
	if err != nil {
		return nil, fmt.Errorf("cannot encode the config block: %w", err)
	}
	return raw, nil
}
