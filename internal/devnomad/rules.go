package devnomad

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"
)

// rules is the schema of an ACL policy, as much of it as matters here.
var rules = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "namespace", LabelNames: []string{"name"}}, {Type: "node"}, {Type: "agent"},
	{Type: "operator"}, {Type: "quota"}, {Type: "plugin"},
	{Type: "host_volume", LabelNames: []string{"name"}},
	{Type: "node_pool", LabelNames: []string{"name"}},
}}

var nsRules = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "policy"}, {Name: "capabilities"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "variables"}},
}

// addRules reads the text of a policy into grants. It takes HCL 2, which is what
// people write; of HCL 1 it misses blocks within blocks on a single line.
func (g *grants) addRules(text string) error {
	f, diags := hclparse.NewParser().ParseHCL([]byte(text), "policy")
	if diags.HasErrors() {
		return errors.Join(diags.Errs()...)
	}
	content, diags := f.Body.Content(rules)
	if diags.HasErrors() {
		return errors.Join(diags.Errs()...)
	}
	for _, b := range content.Blocks {
		policy, caps, rest, err := readRule(b.Body)
		if err != nil {
			return err
		}
		switch b.Type {
		case "namespace":
			if err := g.addNamespace(b.Labels[0], append(policyCaps(policy), caps...), rest); err != nil {
				return err
			}
		case "node":
			g.node = g.node || policy == "read" || policy == "write"
		case "agent":
			g.agent = g.agent || policy == "read" || policy == "write"
		}
	}
	return nil
}

// readRule reads policy = "…" and capabilities = […] of a block.
func readRule(body hcl.Body) (policy string, caps []string, rest *hcl.BodyContent, err error) {
	rest, diags := body.Content(nsRules)
	if diags.HasErrors() {
		return "", nil, nil, errors.Join(diags.Errs()...)
	}
	if a := rest.Attributes["policy"]; a != nil {
		v, diags := a.Expr.Value(nil)
		if diags.HasErrors() || !isString(v) {
			return "", nil, nil, fmt.Errorf("policy is not a string: %s", a.Range)
		}
		policy = v.AsString()
	}
	if a := rest.Attributes["capabilities"]; a != nil {
		v, diags := a.Expr.Value(nil)
		if diags.HasErrors() || !v.CanIterateElements() {
			return "", nil, nil, fmt.Errorf("capabilities is not a list: %s", a.Range)
		}
		for _, e := range v.AsValueSlice() {
			if !isString(e) {
				return "", nil, nil, fmt.Errorf("capabilities is not a list of strings: %s", a.Range)
			}
			caps = append(caps, e.AsString())
		}
	}
	return policy, caps, rest, nil
}

func isString(v cty.Value) bool { return v.Type() == cty.String && v.IsKnown() && !v.IsNull() }

func (g *grants) addNamespace(name string, caps []string, rest *hcl.BodyContent) error {
	n := nsGrant{pattern: name, caps: map[string]bool{}}
	if was := g.exact(name); was != nil {
		n = *was
	}
	for _, c := range caps {
		n.caps[c] = true
	}
	for _, b := range rest.Blocks {
		paths, diags := b.Body.Content(&hcl.BodySchema{
			Blocks: []hcl.BlockHeaderSchema{{Type: "path", LabelNames: []string{"path"}}},
		})
		if diags.HasErrors() {
			return errors.Join(diags.Errs()...)
		}
		for _, p := range paths.Blocks {
			_, caps, _, err := readRule(p.Body)
			if err != nil {
				return err
			}
			n.variables = append(n.variables, varGrant{p.Labels[0], caps})
		}
	}
	if was := g.exact(name); was != nil {
		*was = n
	} else {
		g.namespaces = append(g.namespaces, n)
	}
	return nil
}

func (g *grants) exact(name string) *nsGrant {
	for i := range g.namespaces {
		if g.namespaces[i].pattern == name {
			return &g.namespaces[i]
		}
	}
	return nil
}
