//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// killTimeout is how long every task gets to end by itself.
const killTimeout = 2 * time.Second

// drivenJob is a job of one task "app" under the driver, which is not restarted.
type drivenJob struct {
	id       string
	driver   string // "" means doze
	app      string // see runApp; "" means driven
	config   map[string]any
	env      map[string]string
	memoryMB int
	port     int  // static; 0: Nomad's choice
	noLogs   bool // Nomad does not collect them
	edit     func(*nomad.Job)
}

// register submits the job; it is purged when the test ends.
func (d *driven) register(j drivenJob) {
	d.t.Helper()
	d.submit(j)
	d.t.Cleanup(func() {
		// An error means that the test has purged it itself.
		_, _, _ = d.client.Jobs().Deregister(j.id, true, d.write())
	})
}

// submit submits the job, at first or again.
func (d *driven) submit(j drivenJob) {
	d.t.Helper()
	_, _, err := d.client.Jobs().Register(d.job(j), d.write())
	fail(d.t, err)
}

func (d *driven) job(j drivenJob) *nomad.Job {
	group := nomad.NewTaskGroup("web", 1)
	network := &nomad.NetworkResource{DynamicPorts: []nomad.Port{{Label: "http"}}}
	if j.port != 0 {
		network = &nomad.NetworkResource{ReservedPorts: []nomad.Port{{Label: "http", Value: j.port}}}
	}
	group.Networks = []*nomad.NetworkResource{network}
	// The least that Nomad takes for the logs: by default it would be 300, and two dozen tasks
	// would not fit on a small machine.
	group.EphemeralDisk = &nomad.EphemeralDisk{SizeMB: new(110)}
	group.RestartPolicy = &nomad.RestartPolicy{Attempts: new(0), Mode: new("fail")}
	group.ReschedulePolicy = &nomad.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
	task := nomad.NewTask("app", orElse(j.driver, "doze"))
	task.SetConfig("command", d.app)
	for key, value := range j.config {
		task.SetConfig(key, value)
	}
	task.Env = map[string]string{"E2E_APP": orElse(j.app, "driven")}
	maps.Copy(task.Env, j.env)
	if j.noLogs {
		task.LogConfig = &nomad.LogConfig{Disabled: new(true)}
	}
	task.KillTimeout = new(killTimeout)
	task.Resources = &nomad.Resources{CPU: new(20), MemoryMB: new(max(j.memoryMB, 64))}
	group.AddTask(task)
	job := nomad.NewServiceJob(j.id, j.id, "global", 50)
	job.Update = &nomad.UpdateStrategy{MaxParallel: new(0)}
	job.AddTaskGroup(group)
	if j.edit != nil {
		j.edit(job)
	}
	return job
}

func orElse(got, otherwise string) string {
	if got == "" {
		return otherwise
	}
	return got
}

// run registers the job and waits until its task runs.
func (d *driven) run(j drivenJob) {
	d.t.Helper()
	d.register(j)
	d.awaitRunning(j.id)
}

// stop stops the job, as `nomad job stop` does.
func (d *driven) stop(job string) {
	d.t.Helper()
	_, _, err := d.client.Jobs().Deregister(job, false, d.write())
	fail(d.t, err)
}

// awaitRunning waits until Nomad says that the task runs.
func (d *driven) awaitRunning(job string) {
	d.t.Helper()
	d.await(job+" to run", func() error {
		state := d.task(job)
		if state.State != "running" {
			return fmt.Errorf("it is %s: %s", state.State, eventsOf(state))
		}
		return nil
	})
}

// alloc is the job's newest allocation; nil: there is none yet.
func (d *driven) alloc(job string) *nomad.Allocation {
	d.t.Helper()
	stubs, _, err := d.client.Jobs().Allocations(job, true, d.query())
	fail(d.t, err)
	var newest *nomad.AllocationListStub
	for _, stub := range stubs {
		if newest == nil || stub.CreateIndex > newest.CreateIndex {
			newest = stub
		}
	}
	if newest == nil {
		return nil
	}
	alloc, _, err := d.client.Allocations().Info(newest.ID, d.query())
	fail(d.t, err)
	return alloc
}

// task is the state of the job's task, or an empty one.
func (d *driven) task(job string) *nomad.TaskState {
	d.t.Helper()
	if alloc := d.alloc(job); alloc != nil && alloc.TaskStates["app"] != nil {
		return alloc.TaskStates["app"]
	}
	return &nomad.TaskState{}
}

// addr is where the task can be reached.
func (d *driven) addr(job string) string {
	d.t.Helper()
	d.await(job+" to be placed", func() error {
		if d.alloc(job) == nil {
			return errors.New("it has no allocation")
		}
		return nil
	})
	for _, port := range d.alloc(job).AllocatedResources.Shared.Ports {
		return net.JoinHostPort(port.HostIP, strconv.Itoa(port.Value))
	}
	d.t.Fatalf("%s has no port", job)
	return ""
}

// eventsOf are the task's events in words, the newest last.
func eventsOf(state *nomad.TaskState) string {
	var lines []string
	for _, event := range state.Events {
		lines = append(lines, event.Type+": "+event.DisplayMessage)
	}
	return strings.Join(lines, "\n")
}

// awaitEvent waits until one of the task's events has the words.
func (d *driven) awaitEvent(job, words string) {
	d.t.Helper()
	d.await(fmt.Sprintf("an event %q of %s", words, job), func() error {
		if events := eventsOf(d.task(job)); !strings.Contains(events, words) {
			return fmt.Errorf("its events are\n%s", events)
		}
		return nil
	})
}

// signal sends a signal to the task as `nomad alloc signal` does.
func (d *driven) signal(job, name string) {
	d.t.Helper()
	fail(d.t, d.client.Allocations().Signal(d.alloc(job), d.query(), "app", name))
}
