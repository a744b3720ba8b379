package devnomad

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// filter says why the node cannot take a group at all, in the words of Nomad's
// ConstraintFiltered. "": it can.
func (n *node) filter(j *nomad.Job, g *nomad.TaskGroup) string {
	all := slices.Concat(j.Constraints, g.Constraints)
	for _, t := range g.Tasks {
		if !slices.Contains(n.drivers, t.Driver) {
			return "missing drivers"
		}
		all = append(all, t.Constraints...)
	}
	for _, c := range all {
		if !n.satisfies(c) {
			return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.LTarget, c.Operand, c.RTarget))
		}
	}
	return ""
}

// satisfies checks one constraint. What compares versions or counts hosts holds
// on a single node of one version.
func (n *node) satisfies(c *nomad.Constraint) bool {
	l, lok := n.target(c.LTarget)
	r, rok := n.target(c.RTarget)
	switch c.Operand {
	case "=", "==", "is":
		return lok && rok && l == r
	case "!=", "not":
		return l != r
	case "is_set":
		return lok
	case "is_not_set":
		return !lok
	case "<":
		return lok && rok && l < r
	case "<=":
		return lok && rok && l <= r
	case ">":
		return lok && rok && l > r
	case ">=":
		return lok && rok && l >= r
	case "regexp":
		re, err := regexp.Compile(r)
		return err == nil && lok && re.MatchString(l)
	case "set_contains", "set_contains_all":
		return lok && containsAll(strings.Split(l, ","), strings.Split(r, ","))
	}
	return true
}

func containsAll(set, want []string) bool {
	for _, w := range want {
		if !slices.Contains(set, strings.TrimSpace(w)) {
			return false
		}
	}
	return true
}

// target resolves ${attr.x}, ${node.x}; anything else is itself.
func (n *node) target(s string) (string, bool) {
	inner, ok := strings.CutPrefix(s, "${")
	if !ok {
		return s, true
	}
	return n.lookup(strings.TrimSuffix(inner, "}"))
}

// lookup resolves a name of the node.
func (n *node) lookup(name string) (string, bool) {
	switch name {
	case "node.unique.id":
		return n.id, true
	case "node.unique.name":
		return n.name, true
	case "node.datacenter":
		return n.datacenter, true
	case "node.pool":
		return "default", true
	case "node.region":
		return n.region, true
	}
	if a, ok := strings.CutPrefix(name, "attr."); ok {
		v, ok := n.attrs[a]
		return v, ok
	}
	return "", false
}
