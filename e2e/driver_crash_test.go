//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
)

// The agent's SIGTERM and SIGKILL and the plugin's SIGKILL: nothing restarts, tasks sleep
// on as they slept, connections live on, sleeping tasks wake while nobody is there but their
// shepherd, and the ends of tasks are told afterwards.
func TestDriver_agentOrPluginDies_tasksDoNot(t *testing.T) {
	t.Parallel()
	d := startDriven(t)
	tasks := d.bystanders()
	for _, c := range []crash{
		{name: "agent SIGTERM", do: d.crashAgent(syscall.SIGTERM)},
		{name: "agent SIGKILL", do: d.crashAgent(syscall.SIGKILL), keepsPlugin: true},
		{name: "plugin SIGKILL", do: d.crashPlugin},
	} {
		ok := t.Run(c.name, func(t *testing.T) { d.in(t).survive(tasks, c) })
		if !ok {
			return // the tasks are in no state for the next one
		}
	}
	t.Run("everything, as at a boot", func(t *testing.T) { d.in(t).testBoot(tasks) })
}

// crash is an end of what is above the tasks, and its new beginning.
type crash struct {
	name string
	do   func(meanwhile func())
	// keepsPlugin: the plugin's process lives on, and the next agent finds it. Without it
	// there is none in the outage, and then another.
	keepsPlugin bool
}

// survive brings about one crash and looks what has become of everything.
func (d *driven) survive(tasks []*bystander, c crash) {
	for _, b := range tasks {
		d.bring(b)
	}
	ends := d.endings()
	plugin := pluginPid(d.t, d.plugin)
	c.do(func() {
		d.checkOutage(plugin, c)
		defer d.checkOutage(plugin, c)
		for _, b := range tasks {
			d.visit(b)
		}
		for _, e := range ends {
			e.do(d.t, e)
		}
	})
	for _, b := range tasks {
		d.checkUnhurt(b)
	}
	for _, e := range ends {
		d.awaitEvent(e.job, e.want)
		d.await("every process of "+e.job+" to end", func() error {
			return noneOf(processesOf(d.t, e.alloc))
		})
	}
	for _, b := range tasks {
		d.checkUsable(b)
	}
	now := pluginsOf(d.t, d.plugin) // all tasks are its own again
	if len(now) != 1 || (now[0] == plugin) != c.keepsPlugin {
		d.t.Errorf("after plugin process %d there is %v", plugin, now)
	}
}

// checkOutage looks which processes of the plugin there are while there is no agent, or none
// that could start another.
func (d *driven) checkOutage(plugin int, c crash) {
	d.t.Helper()
	var want []int
	if c.keepsPlugin {
		want = []int{plugin}
	}
	if now := pluginsOf(d.t, d.plugin); !slices.Equal(now, want) {
		d.t.Errorf("in the outage the plugin's processes are %v, not %v", now, want)
	}
}

// testBoot: what a boot does not leave, neither shepherds nor their directory, Nomad starts
// anew in its allocation. That is no failure.
func (d *driven) testBoot(tasks []*bystander) {
	for _, b := range tasks {
		b.life, _ = d.whoAnswers(b.job)
		b.alloc = d.alloc(b.job)
		d.bringTo(b.job, b.depth)
	}
	d.boot()
	for _, b := range tasks {
		d.awaitOther(b.job, b.life)
		if now := d.alloc(b.job); now.ID != b.alloc.ID || now.TaskStates["app"].Failed {
			d.t.Errorf("%s is allocation %s now:\n%s", b.job, now.ID,
				eventsOf(now.TaskStates["app"]))
		}
	}
}

// boot ends and removes what a boot does, and starts the agent again.
func (d *driven) boot() {
	d.t.Helper()
	var names []string
	entries, err := os.ReadDir(d.state)
	fail(d.t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	fail(d.t, d.agent.EndAll())
	for _, pid := range shepherdsIn(d.t, d.state) {
		fail(d.t, syscall.Kill(pid, syscall.SIGKILL))
	}
	fail(d.t, os.RemoveAll(d.state))
	d.await("the cgroups to be empty", func() error {
		var errs []error
		for _, cgroup := range tracesOf(d.t, names) {
			errs = append(errs, os.Remove(cgroup))
		}
		return errors.Join(errs...)
	})
	fail(d.t, d.agent.Launch())
	d.awaitDriver()
}

// crashAgent ends the agent, and starts it again.
func (d *driven) crashAgent(sig syscall.Signal) func(meanwhile func()) {
	return func(meanwhile func()) {
		d.t.Helper()
		fail(d.t, d.agent.End(sig))
		meanwhile()
		fail(d.t, d.agent.Launch())
		d.awaitDriver()
	}
}

// crashPlugin ends the plugin's process. The agent would start another at once, so it stands
// still until the outage is over.
func (d *driven) crashPlugin(meanwhile func()) {
	d.t.Helper()
	before := pluginPid(d.t, d.plugin)
	fail(d.t, d.agent.Signal(syscall.SIGSTOP))
	func() {
		defer func() { fail(d.t, d.agent.Signal(syscall.SIGCONT)) }()
		fail(d.t, syscall.Kill(before, syscall.SIGKILL))
		d.await("the plugin to end", func() error { return noneOf(pluginsOf(d.t, d.plugin)) })
		meanwhile()
	}()
	d.await("another plugin process", func() error {
		if err := syscall.Kill(before, 0); err == nil {
			return fmt.Errorf("process %d still is there", before)
		}
		return d.client.Allocations().Signal(d.alloc("relay-awake-alone"), d.query(), "app",
			"SIGCONT")
	})
}

// ending is a task that ends while nobody but its shepherd is there.
type ending struct {
	job   string
	depth depth // before its end
	do    func(testing.TB, ending)
	want  string // in an event
	// for the time when nobody can be asked
	addr, alloc string
	shepherd    int
}

// endings are one of each kind, at their depth.
func (d *driven) endings() []ending {
	d.t.Helper()
	const lost = "the task's shepherd has ended"
	all := []ending{
		{job: "exits-0", depth: awake, do: asked("/exit?code=0"), want: "Exit Code: 0"},
		{job: "exits-7", depth: awake, do: asked("/exit?code=7"), want: "Exit Code: 7"},
		{job: "killed", depth: awake, do: killed, want: "Exit Code: 137, Signal: 9"},
		{job: "killed-frozen", depth: frozen, do: killed, want: "Exit Code: 137, Signal: 9"},
		{job: "eats", depth: awake, do: asked("/eat"), want: "OOM Killed"},
		{job: "lost", depth: awake, do: shepherdKilled, want: lost},
		{job: "lost-frozen", depth: frozen, do: shepherdKilled, want: lost},
		{job: "lost-parked", depth: parked, do: shepherdKilled, want: lost},
	}
	for _, e := range all {
		d.register(drivenJob{id: e.job, config: map[string]any{"listen": "http", "freeze_after": ""}})
	}
	for i := range all {
		e := &all[i]
		d.whoAnswers(e.job)
		e.addr, e.alloc = d.addr(e.job), d.alloc(e.job).ID
		e.shepherd = shepherdOf(d.t, processesOf(d.t, e.alloc)[0])
		d.bringTo(e.job, e.depth)
	}
	return all
}

// asked ends a task by a request.
func asked(path string) func(testing.TB, ending) {
	return func(_ testing.TB, e ending) {
		_, _ = get(e.addr, path) // the app may die of it before it has answered
	}
}

// killed ends a task's process.
func killed(t testing.TB, e ending) {
	fail(t, syscall.Kill(processesOf(t, e.alloc)[0], syscall.SIGKILL))
}

func shepherdKilled(t testing.TB, e ending) {
	fail(t, syscall.Kill(e.shepherd, syscall.SIGKILL))
}
