package main

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// demoApp is one job of the demo.
type demoApp struct {
	name   string // the job's; its host is <name>.localhost
	app    string // of the application; "": name
	about  string
	probe  map[string]any // the policy's probe block; nil: Doze's default
	driver string         // "": raw_exec
	config map[string]any // of the task, beside command and args
	idle   time.Duration  // the group's idle_after; 0: the demo's
}

func demoApps() []demoApp {
	return []demoApp{
		{name: "hello", about: "boots at once"},
		{name: "slow", about: "needs two seconds and answers 503 until it is ready",
			probe: probeHealthz()},
		{name: "echo", about: "echoes WebSockets and bodies, streams events"},
	}
}

// frozenApp sleeps in place, under the doze task driver: its group stays at count 1, its
// task is frozen in memory.
func frozenApp() demoApp {
	return demoApp{
		name: "frozen", app: "hello", about: "frozen in memory when unused for some seconds",
		probe: probeHealthz(), driver: "doze", idle: 10 * time.Minute,
		config: map[string]any{
			"listen": "http", "freeze_after": "3s", "shield": []string{"/healthz"},
			"probe": []map[string]any{probeHealthz()},
		},
	}
}

func probeHealthz() map[string]any {
	return map[string]any{"http": []map[string]any{{"path": "/healthz"}}}
}

func (a demoApp) host() string { return a.name + ".localhost" }

func (a demoApp) jobID() string { return "doze-demo-" + a.name }

// job is the app's Nomad job, born asleep. It runs this very binary.
func (a demoApp) job(idleAfter time.Duration) (*nomad.Job, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program's own file: %w", err)
	}
	job := nomad.NewServiceJob(a.jobID(), a.jobID(), "global", 50)
	group := nomad.NewTaskGroup("web", 0)
	group.Networks = []*nomad.NetworkResource{{
		DynamicPorts: []nomad.Port{{Label: "http"}},
	}}
	group.Scaling = a.scaling(cmp.Or(a.idle, idleAfter))
	task := nomad.NewTask("app", cmp.Or(a.driver, "raw_exec"))
	task.SetConfig("command", binary)
	task.SetConfig("args", []string{"app", cmp.Or(a.app, a.name)})
	if a.driver != "" {
		task.User = strconv.Itoa(os.Getuid()) // who may run this file; the driver's default is nobody
	}
	for key, value := range a.config {
		task.SetConfig(key, value)
	}
	task.Resources = &nomad.Resources{CPU: new(50), MemoryMB: new(64)}
	group.AddTask(task)
	job.AddTaskGroup(group)
	// Without a deployment a group can be scaled again at once after a wake.
	job.Update = &nomad.UpdateStrategy{MaxParallel: new(0)}
	return job, nil
}

func (a demoApp) scaling(idleAfter time.Duration) *nomad.ScalingPolicy {
	policy := map[string]any{
		"idle_after": idleAfter.String(),
		"route":      []map[string]any{{"hosts": []string{a.host()}}},
	}
	if a.probe != nil {
		policy["probe"] = []map[string]any{a.probe}
	}
	return &nomad.ScalingPolicy{
		Enabled: new(true),
		Min:     new(int64(0)),
		Max:     new(int64(3)),
		Policy:  map[string]any{"doze": []map[string]any{policy}},
	}
}
