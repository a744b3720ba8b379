package devnomad_test

import (
	"net/http"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// holder makes a client token with a policy of its own.
func (w *world) holder(rules string) (secret string) {
	w.Helper()
	_, err := w.nomad.ACLPolicies().Upsert(&nomad.ACLPolicy{Name: w.name, Rules: rules}, nil)
	w.ok(err)
	t, _, err := w.nomad.ACLTokens().Create(&nomad.ACLToken{
		Name: w.name, Type: "client", Policies: []string{w.name},
	}, nil)
	w.ok(err)
	return t.SecretID
}

var aclCases = []contractCase{
	{"acl-no-token", func(w *world) {
		for _, path := range []string{"/v1/jobs", "/v1/allocations", "/v1/job/x"} {
			a := w.doAs("", "GET", path, "")
			w.equal(path, a.code, http.StatusForbidden)
			w.equal(path, a.body, "Permission denied")
		}
	}},
	{"acl-unknown-token", func(w *world) {
		a := w.doAs(nobody, "GET", "/v1/jobs", "")
		w.equal("status", a.code, http.StatusForbidden)
		w.equal("text", a.body, "Permission denied")
	}},
	{"acl-read-only", func(w *world) {
		w.register(w.job(0, scaling(0, 2)))
		me := w.as(w.holder(`namespace "default" { policy = "read" }`))
		_, _, err := me.Jobs().Info(w.name, nil)
		w.ok(err)
		_, _, err = me.Scaling().ListPolicies(nil)
		w.ok(err)
		_, _, err = me.Jobs().Scale(w.name, "web", new(1), "", false, nil, nil)
		w.fails(err, 403, "Permission denied")
		_, _, err = me.Jobs().Register(w.job(1), nil)
		w.fails(err, 403, "Permission denied")
		_, _, err = me.Jobs().Deregister(w.name, true, nil)
		w.fails(err, 403, "Permission denied")
	}},
	{"acl-scale-only", func(w *world) {
		w.register(w.job(0, scaling(0, 2)))
		secret := w.holder(`namespace "default" {
			capabilities = ["list-jobs", "read-job", "scale-job", "read-job-scaling"]
		}`)
		me := w.as(secret)
		_, _, err := me.Jobs().Scale(w.name, "web", new(1), "", false, nil, nil)
		w.ok(err)
		_, _, err = me.Jobs().ScaleStatus(w.name, nil)
		w.ok(err)
		_, _, err = me.Scaling().ListPolicies(nil)
		w.ok(err)
		_, _, err = me.Jobs().Register(w.job(1), nil)
		w.fails(err, 403, "Permission denied")
		id := w.awaitAllocs(w.name, "running", 1)[0].ID
		a := w.doAs(secret, "PUT", "/v1/client/allocation/"+id+"/signal", `{"Signal":"SIGHUP"}`)
		w.equal("signal", a.code, http.StatusForbidden)
	}},
	{"acl-other-namespace", func(w *world) {
		w.register(w.job(0))
		secret := w.holder(`namespace "elsewhere" { policy = "write" }`)
		me := w.as(secret)
		_, _, err := me.Jobs().Info(w.name, nil)
		w.fails(err, 403, "Permission denied")
		all, _, err := me.Jobs().List(&nomad.QueryOptions{Namespace: "*"})
		w.ok(err)
		w.equal("jobs that it may see", len(all), 0)
		names, _, err := me.Namespaces().List(nil)
		w.ok(err)
		for _, n := range names {
			w.holds("a namespace it may not see: "+n.Name, n.Name != "default")
		}
		w.silent(secret, "topic=Job&namespace=*")
	}},
	{"acl-stream", func(w *world) {
		secret := w.holder(`namespace "default" { capabilities = ["list-jobs", "read-job"] }`)
		w.equal("first line", w.streamAs(secret, "topic=Allocation").line(), "{}")
		w.silent(secret, "topic=*")
		w.silent(secret, "topic=Node")
		w.silent("", "topic=Job")
	}},
	{"acl-token-self", func(w *world) {
		secret := w.holder(`namespace "default" { policy = "read" }`)
		me := w.as(secret)
		t, _, err := me.ACLTokens().Self(nil)
		w.ok(err)
		w.equal("policies", t.Policies, []string{w.name})
		w.equal("type", t.Type, "client")
		_, err = w.nomad.ACLTokens().Delete(t.AccessorID, nil)
		w.ok(err)
		a := w.doAs(secret, "GET", "/v1/jobs", "")
		w.equal("after it was deleted", a.code, http.StatusForbidden)
	}},
	{"acl-stream-ends-with-token", func(w *world) {
		secret := w.holder(`namespace "default" { policy = "read" }`)
		me := w.as(secret)
		t, _, err := me.ACLTokens().Self(nil)
		w.ok(err)
		s := w.streamAs(secret, "topic=Job:"+w.name)
		s.line()
		w.register(w.job(0))
		s.until("Job/JobRegistered")
		_, err = w.nomad.ACLTokens().Delete(t.AccessorID, nil)
		w.ok(err)
		s.ends()
	}},
	{"acl-variables", func(w *world) {
		me := w.as(w.holder(`namespace "default" {
			variables {
				path "contract/` + w.name + `/*" {
					capabilities = ["list", "read", "write"]
				}
			}
		}`)).Variables()
		mine := "contract/" + w.name + "/lock"
		_, _, err := me.AcquireLock(&nomad.Variable{Path: mine}, nil)
		w.ok(err)
		_, _, err = me.Read(mine, nil)
		w.ok(err)
		_, _, err = me.Read("contract/other", nil)
		w.fails(err, 403, "Permission denied")
		_, err = me.Delete(mine, nil)
		w.fails(err, 403, "Permission denied")
	}},
	{"acl-bearer", func(w *world) {
		req, err := http.NewRequestWithContext(w.Context(), "GET", w.addr+"/v1/jobs", nil)
		w.ok(err)
		req.Header.Set("Authorization", "Bearer "+w.token)
		resp, err := http.DefaultClient.Do(req)
		w.ok(err)
		defer resp.Body.Close()
		w.equal("status", resp.StatusCode, http.StatusOK)
	}},
}

var agentCases = []contractCase{
	{"agent-leader", func(w *world) {
		leader, err := w.nomad.Status().Leader()
		w.ok(err)
		w.holds("an address: "+leader, strings.HasPrefix(leader, "127.0.0.1:"))
		peers, err := w.nomad.Status().Peers()
		w.ok(err)
		w.equal("peers", len(peers), 1)
		regions, err := w.nomad.Regions().List()
		w.ok(err)
		w.equal("regions", regions, []string{"global"})
	}},
	{"agent-self", func(w *world) {
		self, err := w.nomad.Agent().Self()
		w.ok(err)
		w.equal("region", self.Config["Region"], any("global"))
		w.equal("status", self.Member.Status, "alive")
		w.equal("build", self.Member.Tags["build"], "2.0.5")
		acl, ok := self.Config["ACL"].(map[string]any)
		w.holds("ACL settings", ok)
		w.equal("ACLs", acl["Enabled"], any(true))
		a := w.doAs("", "GET", "/v1/agent/self", "")
		w.equal("without a token", a.code, http.StatusForbidden)
	}},
	{"agent-node", func(w *world) {
		nodes, _, err := w.nomad.Nodes().List(nil)
		w.ok(err)
		w.equal("nodes", len(nodes), 1)
		n, _, err := w.nomad.Nodes().Info(nodes[0].ID, nil)
		w.ok(err)
		w.equal("status", n.Status, "ready")
		w.equal("driver", n.Attributes["driver.raw_exec"], "1")
		w.equal("kernel", n.Attributes["kernel.name"], "linux")
	}},
	{"namespace-life", func(w *world) {
		ns := w.nomad.Namespaces()
		_, err := ns.Register(&nomad.Namespace{Name: w.name, Description: "one"}, nil)
		w.ok(err)
		n, _, err := ns.Info(w.name, nil)
		w.ok(err)
		w.equal("description", n.Description, "one")
		_, err = ns.Delete(w.name, nil)
		w.ok(err)
		_, _, err = ns.Info(w.name, nil)
		w.fails(err, 404, "Namespace not found")
	}},
}
