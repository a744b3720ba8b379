package devnomad

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// grants is what a request's token may do.
type grants struct {
	management bool
	node       bool // node:read
	agent      bool // agent:read
	secret     string
	namespaces []nsGrant
}

// nsGrant is one namespace rule of a policy; the pattern may hold globs.
type nsGrant struct {
	pattern   string
	caps      map[string]bool
	variables []varGrant
}

type varGrant struct {
	pattern string
	caps    []string
}

func everything() *grants { return &grants{management: true, node: true, agent: true} }

// allow says whether any of the capabilities is granted in a namespace; in "*"
// it is enough that some namespace grants it. No capability at all: yes.
func (g *grants) allow(ns string, anyOf ...string) bool {
	if g.management || len(anyOf) == 0 {
		return true
	}
	if ns == allNamespaces {
		return slices.ContainsFunc(g.namespaces, func(n nsGrant) bool { return n.has(anyOf) })
	}
	n := g.closest(ns)
	return n != nil && n.has(anyOf)
}

func (n nsGrant) has(anyOf []string) bool {
	return !n.caps["deny"] && slices.ContainsFunc(anyOf, func(c string) bool { return n.caps[c] })
}

// closest is the rule that counts for a namespace: its own, else the longest glob.
func (g *grants) closest(ns string) *nsGrant {
	var best *nsGrant
	for i, n := range g.namespaces {
		if n.pattern == ns {
			return &g.namespaces[i]
		}
		if ok, err := path.Match(n.pattern, ns); err == nil && ok &&
			(best == nil || len(n.pattern) > len(best.pattern)) {
			best = &g.namespaces[i]
		}
	}
	return best
}

// allowVar says whether a variable may be used in one of the ways named.
func (g *grants) allowVar(ns, name string, anyOf ...string) bool {
	if g.management {
		return true
	}
	n := g.closest(ns)
	if n == nil {
		return false
	}
	var best *varGrant
	for i, v := range n.variables {
		if glob(v.pattern, name) && (best == nil || len(v.pattern) > len(best.pattern)) {
			best = &n.variables[i]
		}
	}
	return best != nil && !slices.Contains(best.caps, "deny") &&
		slices.ContainsFunc(anyOf, func(c string) bool { return slices.Contains(best.caps, c) })
}

// resolve finds what a request may do. Without ACLs that is everything; without
// a token, what the policy "anonymous" says.
func (c *Cluster) resolve(r *http.Request) (*grants, error) {
	return c.resolveSecret(secretOf(r))
}

func (c *Cluster) resolveSecret(secret string) (*grants, error) {
	if c.cfg.ACLToken == "" {
		return everything(), nil
	}
	var g *grants
	var err error
	c.store.view(func(s *store) { g, err = s.grantsOf(secret) })
	return g, err
}

func (s *store) grantsOf(secret string) (*grants, error) {
	names := []string{"anonymous"}
	if secret != "" {
		t := s.tokens[secret]
		switch {
		case t == nil:
			return nil, errForbidden
		case t.Type == "management":
			g := everything()
			g.secret = secret
			return g, nil
		}
		names = t.Policies
	}
	g := &grants{secret: secret}
	for _, name := range names {
		if p := s.policies[name]; p != nil {
			if err := g.addRules(p.Rules); err != nil {
				return nil, fmt.Errorf("cannot use policy %q: %w", name, err)
			}
		}
	}
	return g, nil
}

// maySubscribe checks an event stream when it is opened: reading in every
// namespace that it covers, management for topics that only managers see.
func (c *Cluster) maySubscribe(s *subscription) error {
	g, err := c.resolveSecret(s.secret)
	if err != nil {
		return errForbidden
	}
	names := []string{s.namespace}
	if s.namespace == allNamespaces {
		names = c.namespaceNames()
	}
	for topic := range s.topics {
		switch topic {
		case nomad.TopicJob, nomad.TopicAllocation, nomad.TopicEvaluation,
			nomad.TopicDeployment, nomad.TopicService:
			for _, ns := range names {
				if !g.allow(ns, "read-job") {
					return errForbidden
				}
			}
		case nomad.TopicNode:
			if !g.node {
				return errForbidden
			}
		default:
			if !g.management {
				return errForbidden
			}
		}
	}
	return nil
}

// policyCaps are the capabilities behind a namespace's coarse policy.
func policyCaps(policy string) []string {
	read := strings.Fields(`list-jobs parse-job read-job csi-list-volume csi-read-volume
		read-job-scaling list-scaling-policies read-scaling-policy host-volume-read`)
	switch policy {
	case "deny":
		return []string{"deny"}
	case "read":
		return read
	case "write":
		return append(read, strings.Fields(`scale-job submit-job dispatch-job read-logs read-fs
			alloc-exec alloc-lifecycle csi-mount-volume csi-write-volume submit-recommendation
			host-volume-create`)...)
	case "scale":
		return strings.Fields(`list-scaling-policies read-scaling-policy read-job-scaling scale-job
			read-job submit-recommendation`)
	}
	return nil
}
