//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	nomad "github.com/hashicorp/nomad/api"

	"doze/api/wire"
)

// The example jobs run as they are under a real Nomad: each group that has a host is woken
// by a request to it.
func TestExamples_onRealNomad_wakeOnRequest(t *testing.T) {
	c := sharedNomad(t)
	path, err := filepath.Abs(binary)
	fail(t, err)
	hosts := map[string][]string{}
	for _, example := range []string{"hello", "slow", "echo", "asleep", "checked", "multi"} {
		job := c.example(t, example, path)
		for _, group := range job.TaskGroups {
			hosts[*job.ID+"/"+*group.Name] = hostsOf(t, group)
		}
	}
	d := startDoze(t, c)
	for name, list := range hosts {
		for _, host := range list {
			got, err := d.get(host, "/")
			if err != nil || got.status != http.StatusOK {
				t.Errorf("%s, host %s: status %d, error %v: %.100s", name, host, got.status,
					err, got.body)
			}
		}
	}
	diagnostics := wire.DiagnosticList{}
	d.read(wire.DiagnosticsPath, &diagnostics)
	for _, diagnostic := range diagnostics.Diagnostics {
		t.Errorf("an example is misconfigured: %+v", diagnostic)
	}
}

// example registers jobs/examples/<name>.nomad.hcl, which runs this build's doze.
func (c *cluster) example(t *testing.T, name, path string) *nomad.Job {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "jobs", "examples", name+".nomad.hcl"))
	fail(t, err)
	job, err := c.client.Jobs().ParseHCLOpts(&nomad.JobsParseRequest{
		JobHCL: string(source), Variables: "doze = " + strconv.Quote(path),
	})
	fail(t, err)
	job.Namespace = &c.namespace
	_, _, err = c.client.Jobs().Register(job, c.write())
	fail(t, err)
	t.Cleanup(func() {
		_, _, err := c.client.Jobs().Deregister(*job.ID, true, c.write())
		fail(t, err)
	})
	return job
}

// hostsOf reads the hosts of a group's doze block, one for each wildcard.
func hostsOf(t *testing.T, group *nomad.TaskGroup) (hosts []string) {
	t.Helper()
	doze := group.Scaling.Policy["doze"].([]any)[0].(map[string]any)
	routes, _ := doze["route"].([]any)
	for _, route := range routes {
		for _, host := range route.(map[string]any)["hosts"].([]any) {
			hosts = append(hosts, strings.Replace(host.(string), "*", "any", 1))
		}
	}
	return hosts
}
