package devnomad

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// token is an ACL token with its secret.
type token = nomad.ACLToken

// bootstrap makes the first management token.
func (s *store) bootstrap(secret string) {
	s.tokens[secret] = &token{
		AccessorID: newID(), SecretID: secret, Name: "Bootstrap Token", Type: "management",
		Global: true, CreateTime: s.now(), CreateIndex: 1, ModifyIndex: 1,
	}
	s.tables[tableTokens] = 1
}

func (s *store) tokenBy(accessor string) *token {
	for _, t := range s.tokens {
		if t.AccessorID == accessor {
			return t
		}
	}
	return nil
}

// manage refuses whoever is not a manager, or everybody while ACLs are off.
func (c *Cluster) manage(r *http.Request) error {
	if c.cfg.ACLToken == "" {
		return fail(http.StatusBadRequest, "ACL support disabled")
	}
	g, err := c.resolve(r)
	if err == nil && !g.management {
		err = errForbidden
	}
	return err
}

// serveTokens serves GET /v1/acl/tokens.
func (c *Cluster) serveTokens(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := c.manage(r); err != nil {
		return nil, err
	}
	return c.read(w, r, func(s *store, q query) (found, error) {
		out := []*nomad.ACLTokenListStub{}
		for _, t := range s.tokens {
			if strings.HasPrefix(t.AccessorID, q.prefix) {
				out = append(out, &nomad.ACLTokenListStub{
					AccessorID: t.AccessorID, Name: t.Name, Type: t.Type, Policies: t.Policies,
					Global: t.Global, CreateTime: t.CreateTime, CreateIndex: t.CreateIndex, ModifyIndex: t.ModifyIndex,
				})
			}
		}
		return found{obj: out, index: max(1, s.tables[tableTokens])}, nil
	})
}

// serveToken serves /v1/acl/token, /v1/acl/token/self and /v1/acl/token/:accessor.
func (c *Cluster) serveToken(w http.ResponseWriter, r *http.Request) (any, error) {
	accessor := strings.Trim(strings.TrimPrefix(r.URL.Path, "/v1/acl/token"), "/")
	if accessor == "self" && r.Method == http.MethodGet {
		return c.ownToken(w, r)
	}
	if err := c.manage(r); err != nil {
		return nil, err
	}
	switch r.Method {
	case http.MethodGet:
		return c.read(w, r, func(s *store, _ query) (found, error) {
			t := s.tokenBy(accessor)
			if t == nil {
				return found{index: max(1, s.tables[tableTokens]), missing: "ACL token not found"}, nil
			}
			return found{obj: t, index: t.ModifyIndex}, nil
		})
	case http.MethodDelete:
		return nil, c.deleteToken(w, accessor)
	}
	return c.putToken(w, r, accessor)
}

// ownToken serves GET /v1/acl/token/self.
func (c *Cluster) ownToken(w http.ResponseWriter, r *http.Request) (any, error) {
	if c.cfg.ACLToken == "" {
		return nil, fail(http.StatusBadRequest, "ACL support disabled")
	}
	secret := secretOf(r)
	if secret == "" {
		return nil, errForbidden
	}
	return c.read(w, r, func(s *store, _ query) (found, error) {
		t := s.tokens[secret]
		if t == nil {
			return found{}, errForbidden // deleted meanwhile
		}
		return found{obj: t, index: t.ModifyIndex}, nil
	})
}

func (c *Cluster) putToken(w http.ResponseWriter, r *http.Request, accessor string) (any, error) {
	t := &token{}
	if err := decode(r, t); err != nil {
		return nil, err
	}
	switch {
	case accessor != "" && t.AccessorID != accessor:
		return nil, fail(http.StatusBadRequest, "ACL token accessor does not match request path")
	case t.Type != "client" && t.Type != "management":
		return nil, fail(http.StatusBadRequest, "token type must be client or management")
	case t.Type == "client" && len(t.Policies) == 0:
		return nil, fail(http.StatusBadRequest, "client token missing policies or roles")
	}
	index, err := c.store.commit(typeTokenUpserted, func(x *tx) error {
		t.CreateIndex, t.ModifyIndex = x.index, x.index
		if was := x.tokenBy(t.AccessorID); was != nil {
			t.SecretID, t.CreateIndex, t.CreateTime = was.SecretID, was.CreateIndex, was.CreateTime
		} else {
			t.AccessorID, t.SecretID, t.CreateTime = newID(), newID(), x.at
		}
		if t.ExpirationTTL > 0 {
			t.ExpirationTime = new(x.at.Add(t.ExpirationTTL))
		}
		x.tokens[t.SecretID] = t
		x.touch(tableTokens)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.recheckStreams()
	if t.ExpirationTime != nil {
		c.spawn(func() { c.expireToken(t) })
	}
	setIndex(w, index)
	return t, nil
}

func (c *Cluster) expireToken(t *token) {
	if !sleep(c.ctx, t.ExpirationTime.Sub(c.now())) {
		return
	}
	if err := c.forgetToken(t.AccessorID); err == nil {
		c.recheckStreams()
	}
}

func (c *Cluster) forgetToken(accessor string) error {
	_, err := c.store.commit(typeTokenDeleted, func(t *tx) error {
		was := t.tokenBy(accessor)
		if was == nil {
			return fail(http.StatusNotFound, "ACL token not found")
		}
		delete(t.tokens, was.SecretID)
		t.touch(tableTokens)
		return nil
	})
	return err
}

func (c *Cluster) deleteToken(w http.ResponseWriter, accessor string) error {
	if err := c.forgetToken(accessor); err != nil {
		return err
	}
	c.recheckStreams()
	c.store.view(func(s *store) { setIndex(w, s.index) })
	return nil
}

// recheckStreams ends the event streams of tokens that may not read any more.
func (c *Cluster) recheckStreams() {
	c.store.broker.closeAll(false, func(s *subscription) bool { return c.maySubscribe(s) != nil })
}

// servePolicies serves GET /v1/acl/policies.
func (c *Cluster) servePolicies(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := c.manage(r); err != nil {
		return nil, err
	}
	return c.read(w, r, func(s *store, _ query) (found, error) {
		out := []*nomad.ACLPolicyListStub{}
		for _, name := range slices.Sorted(maps.Keys(s.policies)) {
			p := s.policies[name]
			out = append(out, &nomad.ACLPolicyListStub{
				Name: name, Description: p.Description, CreateIndex: p.CreateIndex, ModifyIndex: p.ModifyIndex,
			})
		}
		return found{obj: out, index: max(1, s.tables[tableACLPolicies])}, nil
	})
}

// servePolicy reads, writes or deletes an ACL policy.
func (c *Cluster) servePolicy(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := c.manage(r); err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(r.URL.Path, "/v1/acl/policy/")
	if r.Method == http.MethodGet {
		return c.read(w, r, func(s *store, _ query) (found, error) {
			p := s.policies[name]
			if p == nil {
				return found{index: max(1, s.tables[tableACLPolicies]), missing: "ACL policy not found"}, nil
			}
			return found{obj: p, index: p.ModifyIndex}, nil
		})
	}
	var p *nomad.ACLPolicy
	if r.Method != http.MethodDelete {
		p = &nomad.ACLPolicy{}
		if err := decode(r, p); err != nil {
			return nil, err
		}
		if p.Name != name {
			return nil, fail(http.StatusBadRequest, "ACL policy name does not match request path")
		}
		if err := (&grants{}).addRules(p.Rules); err != nil {
			return nil, fail(http.StatusBadRequest, "policy 0 invalid: failed to parse rules: %v", err)
		}
	}
	index, err := c.store.commit(typePolicyUpserted, func(t *tx) error {
		delete(t.policies, name)
		if p != nil {
			p.CreateIndex, p.ModifyIndex = t.index, t.index
			t.policies[name] = p
		}
		t.touch(tableACLPolicies)
		return nil
	})
	c.recheckStreams()
	setIndex(w, index)
	return nil, err
}
