//go:build e2e

package e2e

import (
	"maps"
	"os"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// jobSpec is one job of one group "web" whose task is an application of this program.
type jobSpec struct {
	id        string
	app       string            // see runApp
	env       map[string]string // of the task
	idleAfter time.Duration     // default 3s
	count     int               // at registration; 0: born asleep
	policy    map[string]any    // more keys of the doze block
	deploys   bool              // keep Nomad's default update block
}

func (s jobSpec) host() string { return s.id + ".localhost" }

// register submits the job in the cluster's namespace.
func (c *cluster) register(t testing.TB, s jobSpec) {
	t.Helper()
	_, _, err := c.client.Jobs().Register(c.job(t, s), c.write())
	fail(t, err)
	t.Cleanup(func() {
		// An error means that the test has purged it itself.
		_, _, _ = c.client.Jobs().Deregister(s.id, true, c.write())
	})
}

func (c *cluster) job(t testing.TB, s jobSpec) *nomad.Job {
	t.Helper()
	job := nomad.NewServiceJob(s.id, s.id, "global", 50)
	job.Namespace = &c.namespace
	if !s.deploys {
		job.Update = &nomad.UpdateStrategy{MaxParallel: new(0)}
	}
	job.AddTaskGroup(s.group(t))
	return job
}

func (s jobSpec) group(t testing.TB) *nomad.TaskGroup {
	t.Helper()
	group := nomad.NewTaskGroup("web", s.count)
	group.Networks = []*nomad.NetworkResource{{DynamicPorts: []nomad.Port{{Label: "http"}}}}
	if s.idleAfter == 0 {
		s.idleAfter = 3 * time.Second
	}
	doze := map[string]any{
		"idle_after": s.idleAfter.String(),
		"route":      []map[string]any{{"hosts": []string{s.host()}}},
	}
	maps.Copy(doze, s.policy)
	group.Scaling = &nomad.ScalingPolicy{
		Enabled: new(true), Min: new(int64(0)), Max: new(int64(5)),
		Policy: map[string]any{"doze": []map[string]any{doze}},
	}
	executable, err := os.Executable()
	fail(t, err)
	task := nomad.NewTask("app", "raw_exec")
	task.SetConfig("command", executable)
	task.Env = map[string]string{"E2E_APP": s.app}
	maps.Copy(task.Env, s.env)
	task.KillTimeout = new(2 * time.Second)
	task.Resources = &nomad.Resources{CPU: new(20), MemoryMB: new(32)}
	group.AddTask(task)
	return group
}
