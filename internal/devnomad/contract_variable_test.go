package devnomad_test

import (
	"errors"
	"fmt"
	"net/http"

	nomad "github.com/hashicorp/nomad/api"
)

// conflict is the error of a check-and-set that found something else.
func conflict(w *world, err error) nomad.ErrCASConflict {
	w.Helper()
	c, ok := errors.AsType[nomad.ErrCASConflict](err)
	if !ok {
		w.Fatalf("got %v, want a conflict", err)
	}
	return c
}

var variableCases = []contractCase{
	{"variable-life", func(w *world) {
		vars, path := w.nomad.Variables(), "contract/"+w.name
		_, _, err := vars.Read(path, nil)
		w.equal("unknown", err, error(nomad.ErrVariablePathNotFound))
		v, _, err := vars.Create(&nomad.Variable{Path: path, Items: nomad.VariableItems{"a": "1"}}, nil)
		w.ok(err)
		w.holds("indexes and times", v.CreateIndex == v.ModifyIndex && v.CreateIndex > 0 &&
			v.CreateTime > 0)
		got, meta, err := vars.Read(path, nil)
		w.ok(err)
		w.equal("items", got.Items, nomad.VariableItems{"a": "1"})
		w.equal("index", meta.LastIndex, v.ModifyIndex)
		list, _, err := vars.PrefixList("contract/"+w.name, nil)
		w.ok(err)
		w.equal("listed", len(list), 1)
		w.equal("path", list[0].Path, path)
		_, err = vars.Delete(path, nil)
		w.ok(err)
		_, _, err = vars.Read(path, nil)
		w.equal("deleted", err, error(nomad.ErrVariablePathNotFound))
	}},
	{"variable-cas", func(w *world) {
		vars, path := w.nomad.Variables(), "contract/"+w.name
		v, _, err := vars.CheckedCreate(&nomad.Variable{Path: path,
			Items: nomad.VariableItems{"a": "1"}}, nil)
		w.ok(err)
		_, _, err = vars.CheckedCreate(&nomad.Variable{Path: path,
			Items: nomad.VariableItems{"a": "2"}}, nil)
		w.equal("what is there", conflict(w, err).Conflict.Items, nomad.VariableItems{"a": "1"})
		next := &nomad.Variable{Path: path, ModifyIndex: v.ModifyIndex,
			Items: nomad.VariableItems{"a": "2"}}
		v2, _, err := vars.CheckedUpdate(next, nil)
		w.ok(err)
		w.holds("modified later", v2.ModifyIndex > v.ModifyIndex && v2.CreateIndex == v.CreateIndex)
		_, err = vars.CheckedDelete(path, v.ModifyIndex, nil)
		conflict(w, err)
		_, err = vars.CheckedDelete(path, v2.ModifyIndex, nil)
		w.ok(err)
	}},
	{"variable-bad-request", func(w *world) {
		w.refused("PUT", "/v1/var/contract/"+w.name, `{"Items":{}}`, 400,
			"variable missing required Items object")
		w.refused("PUT", "/v1/var/contract/"+w.name+"?cas=x", `{"Items":{"a":"b"}}`, 400,
			"can not parse cas")
		w.refused("PUT", "/v1/var/a%20b", `{"Items":{"a":"b"}}`, 400, "invalid path")
		w.refused("PUT", "/v1/var/contract/"+w.name+"?cas=1&lock-acquire", `{}`, 400,
			"CAS can't be used with lock operations")
		w.refused("GET", "/v1/var/contract/"+w.name, "", 404, "variable not found")
	}},
	{"lock-life", func(w *world) {
		vars, path := w.nomad.Variables(), "contract/"+w.name
		held, _, err := vars.AcquireLock(&nomad.Variable{
			Path: path, Items: nomad.VariableItems{"holder": "one"}, Lock: &nomad.VariableLock{TTL: "30s",
				LockDelay: "10s"},
		}, nil)
		w.ok(err)
		w.holds("an ID", held.Lock != nil && held.Lock.ID != "")
		w.equal("TTL and delay", []string{held.Lock.TTL, held.Lock.LockDelay}, []string{"30s", "10s"})
		again := w.do("PUT", "/v1/var/"+path+"?lock-acquire", `{"Items":{"holder":"two"}}`)
		w.equal("held by somebody else", again.code, http.StatusConflict)
		read, _, err := vars.Read(path, nil)
		w.ok(err)
		w.equal("items", read.Items["holder"], "one")
		meta, _, err := vars.RenewLock(&nomad.Variable{Path: path, Lock: held.Lock}, nil)
		w.ok(err)
		w.equal("renewed", meta.Path, path)
		_, _, err = vars.RenewLock(&nomad.Variable{Path: path, Lock: &nomad.VariableLock{ID: nobody}},
			nil)
		w.fails(err, 409, "attempting to modify locked variable")
		wrong := w.do("PUT", "/v1/var/"+path, `{"Items":{"holder":"thief"}}`)
		w.equal("written without the lock", wrong.code, http.StatusConflict)
		bad := w.do("PUT", "/v1/var/"+path+"?lock-release", `{"Lock":{"ID":"`+nobody+`"}}`)
		w.equal("released with another ID", bad.code, http.StatusConflict)
		own := fmt.Sprintf(`{"Items":{"holder":"me"},"Lock":{"ID":%q}}`, held.Lock.ID)
		w.equal("written with the lock", w.do("PUT", "/v1/var/"+path, own).code, http.StatusOK)
		_, _, err = vars.ReleaseLock(&nomad.Variable{Path: path, Lock: held.Lock}, nil)
		w.ok(err)
		read, _, err = vars.Read(path, nil)
		w.ok(err)
		w.equal("items after the release", read.Items["holder"], "me")
		w.holds("no lock", read.Lock == nil)
		next := w.do("PUT", "/v1/var/"+path+"?lock-acquire", `{"Items":{"holder":"two"}}`)
		w.equal("acquired by the next", next.code, http.StatusOK)
	}},
	{"lock-bad-request", func(w *world) {
		path := "/v1/var/contract/" + w.name
		w.refused("PUT", path+"?lock-acquire", `{"Lock":{"TTL":"1s"}}`, 400,
			"TTL must be between 10 seconds and 24 hours")
		w.refused("PUT", path+"?lock-acquire&lock-release", `{}`, 400, "multiple lock operations")
		w.refused("PUT", path+"?lock-release", `{"Lock":{"ID":"x"},"Items":{"a":"b"}}`, 400,
			"lock release")
		w.refused("PUT", path+"?lock-renew", `{"Lock":{"ID":"`+nobody+`"}}`, 404,
			"variable doesn't exist")
	}},
	{"lock-defaults", func(w *world) {
		v, _, err := w.nomad.Variables().AcquireLock(&nomad.Variable{Path: "contract/" + w.name}, nil)
		w.ok(err)
		w.equal("TTL and delay", []string{v.Lock.TTL, v.Lock.LockDelay}, []string{"15s", "15s"})
	}},
}
