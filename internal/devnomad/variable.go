package devnomad

import (
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

const maxVariable = 64 << 10 // bytes of all keys and values

// variable is stored with the state of its lock, which no answer shows.
type variable struct {
	nomad.Variable
	lock *lock // nil: not locked
}

// public is the variable as its readers see it: never with the lock's ID.
func (v *variable) public() *nomad.Variable {
	out := v.Variable
	out.Lock = nil
	return &out
}

func (v *variable) metadata() *nomad.VariableMetadata {
	return &nomad.VariableMetadata{
		Namespace: v.Namespace, Path: v.Path, CreateIndex: v.CreateIndex, ModifyIndex: v.ModifyIndex,
		CreateTime: v.CreateTime, ModifyTime: v.ModifyTime,
	}
}

// emptyVariable is what Nomad shows instead of a variable that is in the way.
func emptyVariable(k key) *nomad.Variable { return &nomad.Variable{Namespace: k.ns, Path: k.id} }

// serveVariables serves GET /v1/vars.
func (c *Cluster) serveVariables(w http.ResponseWriter, r *http.Request) (any, error) {
	return c.read(w, r, func(s *store, q query) (found, error) {
		out := []*nomad.VariableMetadata{}
		for _, k := range sortedKeys(s.variables) {
			if (q.ns == allNamespaces || q.ns == k.ns) && strings.HasPrefix(k.id, q.prefix) &&
				q.grants.allowVar(k.ns, k.id, "list", "read") {
				out = append(out, s.variables[k].metadata())
			}
		}
		return found{obj: out, index: max(1, s.tables[tableVariables])}, nil
	})
}

// serveVariable serves one variable and its lock.
func (c *Cluster) serveVariable(w http.ResponseWriter, r *http.Request) (any, error) {
	k := key{namespaceOf(r), strings.TrimPrefix(r.URL.Path, "/v1/var/")}
	if k.id == "" {
		return nil, fail(http.StatusBadRequest, "missing variable path")
	}
	switch r.Method {
	case http.MethodGet:
		return c.read(w, r, func(s *store, q query) (found, error) { return readVariable(s, q, k) })
	case http.MethodPut, http.MethodPost:
		return c.writeVariable(w, r, k)
	case http.MethodDelete:
		return c.deleteVariable(w, r, k)
	}
	return nil, fail(http.StatusBadRequest, "Invalid method")
}

func readVariable(s *store, q query, k key) (found, error) {
	if !q.grants.allowVar(k.ns, k.id, "read") {
		return found{}, errForbidden
	}
	v := s.variables[k]
	if v == nil {
		return found{index: max(1, s.tables[tableVariables]), missing: "variable not found"}, nil
	}
	return found{obj: v.public(), index: v.ModifyIndex}, nil
}

func (c *Cluster) writeVariable(w http.ResponseWriter, r *http.Request, k key) (any, error) {
	g, err := c.resolve(r)
	if err != nil {
		return nil, err
	}
	var v nomad.Variable
	if err := decode(r, &v); err != nil {
		return nil, err
	}
	if v.Namespace != "" {
		k.ns = v.Namespace
	}
	if !g.allowVar(k.ns, k.id, "write") {
		return nil, errForbidden
	}
	v.Namespace, v.Path = k.ns, k.id
	verb, err := lockVerb(r)
	switch {
	case err != nil:
		return nil, err
	case verb != "" && r.URL.Query().Get("cas") != "":
		return nil, fail(http.StatusBadRequest, "CAS can't be used with lock operations")
	case verb != "":
		return c.lockOperation(w, verb, k, v)
	}
	return c.setVariable(w, r, k, v)
}

// setVariable is a write without a lock operation, with or without cas.
func (c *Cluster) setVariable(
	w http.ResponseWriter, r *http.Request, k key, v nomad.Variable,
) (any, error) {
	cas, enforce, err := casIndex(r)
	if err != nil {
		return nil, err
	}
	if err := checkVariable(v); err != nil {
		return nil, err
	}
	return c.answerVariable(w, k, func(t *tx, was *variable) (*variable, *nomad.Variable) {
		if enforce {
			if bad := casConflict(k, was, cas); bad != nil {
				return nil, bad
			}
		}
		if was != nil && was.lock != nil && was.lock.id != lockID(v) {
			return nil, emptyVariable(k)
		}
		next := &variable{Variable: v}
		if was != nil {
			next.lock = was.lock
		}
		return next, nil
	})
}

// answerVariable applies a change and answers with its result, or with 409 and
// what was in the way.
func (c *Cluster) answerVariable(
	w http.ResponseWriter, k key, change func(*tx, *variable) (*variable, *nomad.Variable),
) (any, error) {
	var conflict *nomad.Variable
	var out *variable
	index, err := c.store.commit(typeVariable, func(t *tx) error {
		was := t.variables[k]
		if out, conflict = change(t, was); conflict != nil {
			return errNoPlan
		}
		t.putVariable(k, out, was)
		out = t.variables[k]
		return nil
	})
	if conflict != nil {
		setIndex(w, conflict.ModifyIndex)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		return conflict, nil
	}
	if err != nil {
		return nil, err
	}
	setIndex(w, index)
	shown := out.public()
	shown.Lock = out.lock.shown()
	return shown, nil
}

// putVariable stores a variable; one that is equal to the old one changes nothing.
func (t *tx) putVariable(k key, v, was *variable) {
	v.CreateIndex, v.ModifyIndex = t.index, t.index
	v.CreateTime, v.ModifyTime = t.at.UnixNano(), t.at.UnixNano()
	if was != nil {
		v.CreateIndex, v.CreateTime = was.CreateIndex, was.CreateTime
		if v.lock == was.lock && reflect.DeepEqual(v.Items, was.Items) {
			return
		}
	}
	t.variables[k] = v
	t.touch(tableVariables)
	t.emit(&event{
		Topic: "Variable", Key: k.id, Namespace: k.ns,
		Payload: map[string]any{"Metadata": v.metadata()},
	})
}

func casIndex(r *http.Request) (index uint64, given bool, err error) {
	s := r.URL.Query().Get("cas")
	if s == "" {
		return 0, false, nil
	}
	if index, err = strconv.ParseUint(s, 10, 64); err != nil {
		return 0, true, fail(http.StatusBadRequest, "can not parse cas: %v", err)
	}
	return index, true, nil
}

// casConflict returns what a check-and-set finds instead of the asked index.
func casConflict(k key, was *variable, index uint64) *nomad.Variable {
	switch {
	case was == nil && index == 0:
		return nil
	case was == nil:
		return emptyVariable(k)
	case was.ModifyIndex != index:
		return was.public()
	}
	return nil
}

var variablePath = regexp.MustCompile(`^[a-zA-Z0-9-_~/]{1,128}$`)

func checkVariable(v nomad.Variable) error {
	size := 0
	for name, value := range v.Items {
		size += len(name) + len(value)
	}
	switch {
	case len(v.Items) == 0:
		return fail(http.StatusBadRequest, "variable missing required Items object")
	case size > maxVariable:
		return fail(http.StatusBadRequest, "variables are limited to 64KiB in total size")
	case !variablePath.MatchString(v.Path):
		return fail(http.StatusBadRequest, "invalid path %q", v.Path)
	}
	return nil
}

func (c *Cluster) deleteVariable(w http.ResponseWriter, r *http.Request, k key) (any, error) {
	g, err := c.resolve(r)
	if err != nil {
		return nil, err
	}
	if !g.allowVar(k.ns, k.id, "destroy") {
		return nil, errForbidden
	}
	cas, enforce, err := casIndex(r)
	if err != nil {
		return nil, err
	}
	var conflict *nomad.Variable
	index, err := c.store.commit(typeVariable, func(t *tx) error {
		was := t.variables[k]
		if enforce {
			conflict = casConflict(k, was, cas)
		}
		if conflict == nil && was != nil && was.lock != nil {
			conflict = emptyVariable(k)
		}
		if conflict != nil || was == nil {
			return errNoPlan
		}
		delete(t.variables, k)
		t.touch(tableVariables)
		return nil
	})
	if conflict != nil {
		setIndex(w, conflict.ModifyIndex)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		return conflict, nil
	}
	if err == nil {
		setIndex(w, index)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil, nil
}

// lifetime reads a duration of a lock; "": def.
func lifetime(s string, def time.Duration) (time.Duration, error) {
	if s == "" {
		return def, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fail(http.StatusBadRequest, "%v", err)
	}
	return d, nil
}
