//go:build e2e

package e2e

import (
	"crypto/rand"
	"strings"
	"syscall"
	"testing"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/devnomad"
	"doze/internal/realnomad"
)

// cluster is the Nomad that a test runs on, the embedded one or a real one.
type cluster struct {
	real      bool
	addr      string
	namespace string // of this test alone
	client    *nomad.Client
	faults    *devnomad.Faults // embedded only
	agent     *realnomad.Agent // real only
}

// onEveryCluster runs a test on the embedded cluster and on the real Nomad, which all
// tests of a run share, each in a namespace of its own.
func onEveryCluster(t *testing.T, test func(*testing.T, *cluster)) {
	t.Run("embedded", func(t *testing.T) { test(t, embedded(t)) })
	t.Run("nomad", func(t *testing.T) { test(t, sharedNomad(t)) })
}

func embedded(t testing.TB) *cluster {
	t.Helper()
	faults := new(devnomad.Faults)
	c, err := devnomad.Start(devnomad.Config{Faults: faults})
	if err != nil {
		t.Fatalf("cannot start the embedded cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("cannot end the embedded cluster: %v", err)
		}
	})
	return &cluster{addr: c.Addr(), namespace: "default", client: c.Client(), faults: faults}
}

func sharedNomad(t testing.TB) *cluster {
	t.Helper()
	return inNamespace(t, realnomad.Shared(t, realnomad.Config{}))
}

// inNamespace makes a namespace for one test, so that no other test's doze sees its jobs.
func inNamespace(t testing.TB, agent *realnomad.Agent) *cluster {
	t.Helper()
	client := agent.Client()
	name := "e2e-" + strings.ToLower(rand.Text()[:10])
	if _, err := client.Namespaces().Register(&nomad.Namespace{Name: name}, nil); err != nil {
		t.Fatalf("cannot make namespace %q: %v", name, err)
	}
	return &cluster{real: true, addr: agent.Addr(), namespace: name, client: client, agent: agent}
}

// outage takes Nomad away; the returned function brings it back. Tasks run on.
func (c *cluster) outage(t testing.TB) (end func()) {
	t.Helper()
	if c.faults != nil {
		fail(t, c.faults.Outage(true))
		return func() { fail(t, c.faults.Outage(false)) }
	}
	fail(t, c.agent.End(syscall.SIGTERM))
	return func() { fail(t, c.agent.Launch()) }
}

// count is the group's wanted count in Nomad.
func (c *cluster) count(t testing.TB, job, group string) int {
	t.Helper()
	status, _, err := c.client.Jobs().ScaleStatus(job, c.query())
	fail(t, err)
	return status.TaskGroups[group].Desired
}

// scalings counts the scaling events of a group that set a count.
func (c *cluster) scalings(t testing.TB, job, group string) (up, down int) {
	t.Helper()
	status, _, err := c.client.Jobs().ScaleStatus(job, c.query())
	fail(t, err)
	for _, event := range status.TaskGroups[group].Events {
		switch {
		case event.Count == nil || event.Error:
		case *event.Count > 0:
			up++
		default:
			down++
		}
	}
	return up, down
}

func (c *cluster) query() *nomad.QueryOptions { return &nomad.QueryOptions{Namespace: c.namespace} }
func (c *cluster) write() *nomad.WriteOptions { return &nomad.WriteOptions{Namespace: c.namespace} }

func fail(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
