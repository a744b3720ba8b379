//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	nomad "github.com/hashicorp/nomad/api"

	"doze/api/wire"
	"doze/internal/realnomad"
)

// TestACL_callers_mayWhatNomadLetsThem: with -api-auth nomad, whom Nomad knows gets a list
// of what he may read, workload identities included, and nobody else gets anything.
func TestACL_callers_mayWhatNomadLetsThem(t *testing.T) {
	agent, err := realnomad.Start(realnomad.Config{ACL: true})
	if errors.Is(err, realnomad.ErrNotFound) {
		t.Skip("SKIP: nomad is not on PATH; ACLs were not tried on a real Nomad")
	}
	fail(t, err)
	t.Cleanup(func() { fail(t, agent.Close()) })
	c := inNamespace(t, agent)
	c.register(t, jobSpec{id: "mine", app: "web"})
	tokenFile := filepath.Join(t.TempDir(), "token")
	fail(t, os.WriteFile(tokenFile, []byte(agent.Token), 0o600))
	d := startDoze(t, c, "-api-auth", "nomad", "-nomad-token-file", tokenFile)
	jwt := c.identity(t)
	for name, test := range map[string]struct {
		token        string
		list, groups int // status, and how many groups
		wake         int // status
	}{
		"manager":           {agent.Token, 200, 1, 202},
		"reader":            {c.token(t, "read-job"), 200, 1, 403},
		"scaler":            {c.token(t, "read-job", "scale-job"), 200, 1, 202},
		"other":             {c.token(t, "alloc-exec"), 200, 0, 403},
		"workload identity": {jwt, 200, 0, 403},
		"forged identity":   {jwt[:len(jwt)-4] + "AAAA", 401, 0, 401},
		"unknown":           {"99999999-2222-3333-4444-555555555555", 401, 0, 401},
		"garbage":           {"no token", 401, 0, 401},
		"none":              {"", 401, 0, 401},
	} {
		var list wire.GroupList
		status := d.as(test.token, http.MethodGet, wire.GroupsPath, &list)
		if status != test.list || len(list.Groups) != test.groups {
			t.Errorf("%s: the list says %d with %d groups, want %d with %d", name, status,
				len(list.Groups), test.list, test.groups)
		}
		wake := d.as(test.token, http.MethodPost, d.id("mine").WakePath(), nil)
		if wake != test.wake {
			t.Errorf("%s: the wake says %d, want %d", name, wake, test.wake)
		}
	}
}

// as calls the API with a Nomad token.
func (d *doze) as(token, method, path string, into any) (status int) {
	d.t.Helper()
	req, err := http.NewRequest(method, "http://"+d.api+path, nil)
	fail(d.t, err)
	if token != "" {
		req.Header.Set("X-Nomad-Token", token)
	}
	resp, err := http.DefaultClient.Do(req)
	fail(d.t, err)
	defer resp.Body.Close()
	if into != nil && resp.StatusCode == http.StatusOK {
		fail(d.t, json.NewDecoder(resp.Body).Decode(into))
	}
	return resp.StatusCode
}

// token makes a token that has capabilities in the test's namespace.
func (c *cluster) token(t testing.TB, capabilities ...string) string {
	t.Helper()
	name := strings.Join(capabilities, "-")
	_, err := c.client.ACLPolicies().Upsert(&nomad.ACLPolicy{Name: name,
		Rules: `namespace "` + c.namespace + `" { capabilities = ["` +
			strings.Join(capabilities, `","`) + `"] }`,
	}, nil)
	fail(t, err)
	token, _, err := c.client.ACLTokens().Create(&nomad.ACLToken{
		Name: name, Type: "client", Policies: []string{name},
	}, nil)
	fail(t, err)
	return token.SecretID
}

// identity returns the workload identity that Nomad has given to a task.
func (c *cluster) identity(t testing.TB) string {
	t.Helper()
	job := c.job(t, jobSpec{id: "identified", app: "web", count: 1})
	group := job.TaskGroups[0]
	group.Scaling = nil
	path := filepath.Join(t.TempDir(), "identity")
	task := group.Tasks[0]
	task.SetConfig("command", "/bin/sh")
	task.SetConfig("args", []string{"-c",
		"cp ${NOMAD_SECRETS_DIR}/nomad_token " + path + ".new && mv " + path + ".new " + path +
			" && exec sleep 1000"})
	task.Identity = &nomad.WorkloadIdentity{File: true}
	_, _, err := c.client.Jobs().Register(job, c.write())
	fail(t, err)
	var jwt []byte
	waitFor(t, "a task to get its identity", func() bool {
		jwt, err = os.ReadFile(path)
		return err == nil && len(jwt) > 0
	})
	return strings.TrimSpace(string(jwt))
}
