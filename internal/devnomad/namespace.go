package devnomad

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

func (c *Cluster) namespaceNames() (names []string) {
	c.store.view(func(s *store) { names = slices.Sorted(maps.Keys(s.namespaces)) })
	return names
}

func (c *Cluster) checkNamespace(ns string) error {
	if !slices.Contains(c.namespaceNames(), ns) {
		return fmt.Errorf("job %q is in nonexistent namespace %q", "", ns)
	}
	return nil
}

// serveNamespaces lists those in which the token may do anything.
func (c *Cluster) serveNamespaces(w http.ResponseWriter, r *http.Request) (any, error) {
	return c.read(w, r, func(s *store, q query) (found, error) {
		out := []*nomad.Namespace{}
		for _, name := range slices.Sorted(maps.Keys(s.namespaces)) {
			if strings.HasPrefix(name, q.prefix) && q.grants.sees(name) {
				out = append(out, s.namespaces[name])
			}
		}
		return found{obj: out, index: max(1, s.tables[tableNamespaces])}, nil
	})
}

// sees says whether any capability is granted in a namespace.
func (g *grants) sees(ns string) bool {
	if g.management {
		return true
	}
	n := g.closest(ns)
	return n != nil && len(n.caps) > 0 && !n.caps["deny"]
}

// serveNamespace reads, writes or deletes one.
func (c *Cluster) serveNamespace(w http.ResponseWriter, r *http.Request) (any, error) {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1/namespace"), "/")
	if r.Method == http.MethodGet {
		return c.read(w, r, func(s *store, q query) (found, error) {
			ns := s.namespaces[name]
			switch {
			case !q.grants.sees(name):
				return found{}, errForbidden
			case ns == nil:
				return found{index: max(1, s.tables[tableNamespaces]), missing: "Namespace not found"}, nil
			}
			return found{obj: ns, index: ns.ModifyIndex}, nil
		})
	}
	g, err := c.resolve(r)
	switch {
	case err != nil:
		return nil, err
	case !g.management:
		return nil, errForbidden
	case r.Method == http.MethodDelete:
		return nil, c.deleteNamespace(w, name)
	}
	return nil, c.putNamespace(w, r, name)
}

func (c *Cluster) putNamespace(w http.ResponseWriter, r *http.Request, name string) error {
	var ns nomad.Namespace
	if err := decode(r, &ns); err != nil {
		return err
	}
	if name != "" && ns.Name != name {
		return fail(http.StatusBadRequest, "Namespace name does not match request path")
	}
	index, err := c.store.commit("", func(t *tx) error {
		ns.CreateIndex, ns.ModifyIndex = t.index, t.index
		if was := t.namespaces[ns.Name]; was != nil {
			ns.CreateIndex = was.CreateIndex
		}
		t.namespaces[ns.Name] = &ns
		t.touch(tableNamespaces)
		return nil
	})
	setIndex(w, index)
	return err
}

func (c *Cluster) deleteNamespace(w http.ResponseWriter, name string) error {
	index, err := c.store.commit("", func(t *tx) error {
		if t.namespaces[name] == nil {
			return fail(http.StatusNotFound, "Namespace not found")
		}
		for k, j := range t.jobs {
			if k.ns == name && *j.Status != "dead" {
				return fmt.Errorf("namespace %q has non-terminal jobs in regions: [%s]", name, t.node.region)
			}
		}
		delete(t.namespaces, name)
		t.touch(tableNamespaces)
		return nil
	})
	setIndex(w, index)
	return err
}
