//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// field case 31, for tasks of the driver: uninstalling strands nothing. Taken away from under
// its tasks, the driver is missed by nobody but Nomad, which gives their allocations up: they
// run on, and wake. Given back, it finds all of them again. A node that was drained before has
// none.
func TestDriver_uninstalled_strandsNothing(t *testing.T) {
	t.Parallel()
	d := startDriven(t)
	for _, p := range []promise{
		{"away and back", testAwayAndBack},
		{"drained", testDrained},
	} {
		t.Run(p.name, func(t *testing.T) { p.test(t, d.in(t)) })
	}
}

// orphan is a task whose driver is taken away.
type orphan struct {
	job, addr, life string
	depth           depth
	alloc           string
	conn            client
}

func testAwayAndBack(t *testing.T, d *driven) {
	orphans := []*orphan{
		{job: "orphan-awake", depth: awake}, {job: "orphan-frozen", depth: frozen},
		{job: "orphan-parked", depth: parked}, {job: "orphan-stopped", depth: frozen},
	}
	for _, o := range orphans {
		d.run(drivenJob{id: o.job, config: map[string]any{"listen": "http", "freeze_after": ""}})
		o.life, _ = d.whoAnswers(o.job)
		o.addr, o.alloc = d.addr(o.job), d.alloc(o.job).ID
		fail(t, o.conn.dial(o.addr))
		d.bringTo(o.job, o.depth)
	}
	d.uninstall()
	for _, o := range orphans {
		d.await(o.job+" to be given up", func() error {
			alloc, _, err := d.client.Allocations().Info(o.alloc, d.query())
			fail(t, err)
			if !strings.Contains(alloc.ClientDescription, "driver not found") {
				return fmt.Errorf("it is %s: %s", alloc.ClientStatus, alloc.ClientDescription)
			}
			return nil
		})
		d.checkOrphan(o)
	}
	d.stop("orphan-stopped") // nobody hears of it
	d.install()
	for _, o := range orphans {
		d.await(o.job+" to be found again", func() error {
			now := d.alloc(o.job)
			if err := d.client.Allocations().Signal(now, d.query(), "app", "SIGCONT"); err != nil {
				return err
			}
			if now.ID != o.alloc || now.ClientStatus != "running" {
				return fmt.Errorf("it is allocation %s, %s", now.ID, now.ClientStatus)
			}
			return nil
		})
		d.checkOrphan(o)
	}
	d.stop("orphan-stopped")
	d.awaitPolite(d.alloc("orphan-stopped").ID)
}

// checkOrphan looks whether the task answers, as the process that it was.
func (d *driven) checkOrphan(o *orphan) {
	d.t.Helper()
	body, err := get(o.addr, "/")
	life, _, _ := strings.Cut(body, " ")
	if err != nil || life != o.life && o.depth != parked {
		d.t.Errorf("%s: the process from %s answers, not %s: %v", o.job, life, o.life, err)
	}
	if o.depth == parked {
		return // its connection ended with its process
	}
	if _, err := o.conn.get(); err != nil {
		d.t.Errorf("%s: the connection from before: %v", o.job, err)
	}
}

// uninstall takes the driver off the agent, program and configuration, and starts that anew.
func (d *driven) uninstall() {
	d.t.Helper()
	d.reconfigure(pluginBlock(d.state, ""), "", func() {
		fail(d.t, syscall.Kill(pluginPid(d.t, d.plugin), syscall.SIGKILL))
		fail(d.t, os.Rename(d.plugin, d.aside()))
	})
}

// install takes it back.
func (d *driven) install() {
	d.t.Helper()
	d.reconfigure("", pluginBlock(d.state, ""), func() {
		fail(d.t, os.Rename(d.aside(), d.plugin))
	})
	d.awaitDriver()
}

// aside is where the program is while it is not installed.
func (d *driven) aside() string { return filepath.Join(filepath.Dir(d.app), "uninstalled") }

// reconfigure ends the agent, changes its configuration and what else is to change, and
// starts it again.
func (d *driven) reconfigure(without, with string, change func()) {
	d.t.Helper()
	fail(d.t, d.agent.End(syscall.SIGKILL)) // the next one is ready sooner than after SIGTERM
	path := filepath.Join(d.agent.Dir, "agent.hcl")
	text, err := os.ReadFile(path)
	fail(d.t, err)
	text = []byte(strings.ReplaceAll(string(text), without, "") + with)
	fail(d.t, os.WriteFile(path, text, 0o600))
	change()
	fail(d.t, d.agent.Launch())
}

// testDrained: a drain ends sleeping tasks in time, and leaves nothing that an uninstalled
// driver could be missed for; a node that takes jobs again starts them anew.
func testDrained(t *testing.T, d *driven) {
	tasks := []struct {
		job   string
		depth depth
		env   map[string]string
		want  string
	}{
		{"drained-frozen", frozen, nil, "Terminated: Exit Code: 0"},
		{"drained-parked", parked, nil, "Terminated: Exit Code: 0"},
		{"drained-stubborn", frozen, map[string]string{"E2E_STUBBORN": "1"}, "Signal: 9"},
	}
	var allocs []string
	for _, task := range tasks {
		d.run(drivenJob{id: task.job, env: task.env, config: map[string]any{"listen": "http"}})
		d.bringTo(task.job, task.depth)
		allocs = append(allocs, d.alloc(task.job).ID)
	}
	d.drain()
	for i, task := range tasks {
		alloc, _, err := d.client.Allocations().Info(allocs[i], d.query())
		fail(t, err)
		state := alloc.TaskStates["app"]
		if events := eventsOf(state); !strings.Contains(events, task.want) {
			t.Errorf("%s did not end by %q:\n%s", task.job, task.want, events)
		}
		checkKilledInTime(t, state)
	}
	d.uninstall()
	if err := noneOf(shepherdsIn(t, d.state)); err != nil {
		t.Errorf("after the drain shepherds are left: %v", err)
	}
	d.install()
	_, err := d.client.Nodes().ToggleEligibility(d.node().ID, true, d.write())
	fail(t, err)
	for _, task := range tasks {
		d.whoAnswers(task.job)
	}
}

// drain has every task leave the node, and waits until they have.
func (d *driven) drain() {
	d.t.Helper()
	spec := &nomad.DrainSpec{Deadline: 30 * time.Second}
	_, err := d.client.Nodes().UpdateDrain(d.node().ID, spec, false, d.write())
	fail(d.t, err)
	d.await("the drain", func() error {
		if node := d.node(); node.DrainStrategy != nil {
			return fmt.Errorf("the node is %s", node.Status)
		}
		return noneOf(shepherdsIn(d.t, d.state))
	})
}
