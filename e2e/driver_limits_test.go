//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	nomad "github.com/hashicorp/nomad/api"
)

// limitFiles are what the kernel has of a task's limits under a controller of cgroup v1, and
// under "" those of v2.
func limitFiles(controller string) []string {
	switch controller {
	case "":
		return []string{"cpu.weight", "memory.max", "memory.low", "cpuset.cpus"}
	case "cpu":
		return []string{"cpu.shares"}
	case "memory":
		return []string{"memory.limit_in_bytes", "memory.soft_limit_in_bytes"}
	case "cpuset":
		return []string{"cpuset.cpus"}
	}
	return nil
}

// testLimits: a task has the weight and the memory limits that raw_exec gives the same one on the
// same agent, and the cores that it asks for. Before 1.7 raw_exec limits nothing: there it is
// held to what the job says.
func testLimits(t *testing.T, d *driven) {
	d.allowOversubscription()
	for _, c := range []struct {
		name string
		ask  nomad.Resources
	}{
		{"plain", nomad.Resources{CPU: new(150), MemoryMB: new(80)}},
		{"memory_max", nomad.Resources{CPU: new(77), MemoryMB: new(70), MemoryMaxMB: new(120)}},
		{"cores", nomad.Resources{Cores: new(1), MemoryMB: new(70)}},
	} {
		t.Run(c.name, func(t *testing.T) { d.in(t).compareLimits(c.name, c.ask) })
	}
}

// allowOversubscription has the servers heed memory_max.
func (d *driven) allowOversubscription() {
	d.t.Helper()
	config, _, err := d.client.Operator().SchedulerGetConfiguration(d.query())
	fail(d.t, err)
	config.SchedulerConfig.MemoryOversubscriptionEnabled = true
	_, _, err = d.client.Operator().SchedulerSetConfiguration(config.SchedulerConfig, d.write())
	fail(d.t, err)
}

// compareLimits runs a job under each driver, one after the other: a core can be reserved once.
func (d *driven) compareLimits(name string, ask nomad.Resources) {
	d.t.Helper()
	if ask.Cores != nil && !d.hasCores() {
		d.t.Skip("SKIP: this node has no cores to reserve (Nomad wants cpuset's cgroup for that)")
	}
	run := func(driver string) map[string]string {
		return d.limitsOf(drivenJob{id: "limits-" + name + "-" + driver, driver: driver,
			edit: func(job *nomad.Job) { job.TaskGroups[0].Tasks[0].Resources = &ask }})
	}
	ours := run("doze")
	for _, want := range wantedLimits(ask) {
		if !slices.Contains(slices.Collect(maps.Values(ours)), want) {
			d.t.Errorf("nothing limits it to %s: %v", want, ours)
		}
	}
	version := d.node().Attributes["nomad.version"]
	if strings.HasPrefix(version, "1.6.") {
		return
	}
	raw := run("raw_exec")
	d.t.Logf("%v, under raw_exec %v", ours, raw)
	if strings.HasPrefix(version, "1.") { // older ones have v2's weight on another curve
		delete(ours, "cpu.weight")
		delete(raw, "cpu.weight")
	}
	if !maps.Equal(ours, raw) {
		d.t.Errorf("its limits are %v,\nunder raw_exec they are %v", ours, raw)
	}
}

// hasCores reports whether jobs can reserve cores of the node.
func (d *driven) hasCores() bool {
	d.t.Helper()
	resources := d.node().NodeResources
	return resources != nil && len(resources.Cpu.ReservableCpuCores) > 0
}

// wantedLimits are the values that a job asks for. The weight is not there, which v2 has on a
// scale of its own.
func wantedLimits(ask nomad.Resources) []string {
	if ask.MemoryMaxMB == nil {
		return []string{strconv.Itoa(*ask.MemoryMB << 20)}
	}
	return []string{strconv.Itoa(*ask.MemoryMaxMB << 20), strconv.Itoa(*ask.MemoryMB << 20)}
}

// limitsOf runs a job, and returns what its process is limited to: the value of each file that
// there is.
func (d *driven) limitsOf(job drivenJob) map[string]string {
	d.t.Helper()
	d.run(job)
	alloc := d.alloc(job.id)
	var pids []int
	d.await(job.id+" to have a process", func() error {
		if pids = processesOf(d.t, alloc.ID); len(pids) == 0 {
			return errors.New("it has none")
		}
		return nil
	})
	limits := limitsOf(d.t, pids[0])
	if cores := alloc.AllocatedResources.Tasks["app"].Cpu.ReservedCores; len(cores) > 0 {
		if job.driver == "doze" {
			checkCores(d.t, limits, cores)
		}
		delete(limits, "cpuset.cpus")
	}
	_, _, err := d.client.Jobs().Deregister(job.id, true, d.write())
	fail(d.t, err)
	d.await(job.id+" to end", func() error { return noneOf(processesOf(d.t, alloc.ID)) })
	return limits
}

// checkCores: it may run on the cores that Nomad has reserved for it, and on no other. raw_exec is
// no measure of that: with cgroup v1 its tasks were seen on other cores as well (Nomad 2.0.5).
func checkCores(t testing.TB, limits map[string]string, cores []uint16) {
	t.Helper()
	var reserved []string
	for _, core := range cores {
		reserved = append(reserved, strconv.Itoa(int(core)))
	}
	if got := limits["cpuset.cpus"]; got != strings.Join(reserved, ",") {
		t.Errorf("it may run on the cores %q, reserved are %v", got, reserved)
	}
}

// limitsOf reads the limits of a process's cgroups.
func limitsOf(t testing.TB, pid int) map[string]string {
	t.Helper()
	limits := map[string]string{}
	for controller, dir := range cgroupsOf(t, pid) {
		for _, file := range limitFiles(controller) {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err == nil { // else the controller is not on here
				limits[file] = strings.TrimSpace(string(text))
			}
		}
	}
	return limits
}

// cgroupsOf are the directories of a process's cgroups, by controller of v1, and v2's under "".
func cgroupsOf(t testing.TB, pid int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	fail(t, err)
	dirs := map[string]string{}
	for line := range strings.Lines(string(text)) { // cgroups(7): id:controllers:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for controller := range strings.SplitSeq(parts[1], ",") {
			dir := filepath.Join("/sys/fs/cgroup", controller, parts[2])
			if _, err := os.Stat("/sys/fs/cgroup/unified"); controller == "" && err == nil {
				dir = filepath.Join("/sys/fs/cgroup/unified", parts[2])
			}
			dirs[controller] = dir
		}
	}
	return dirs
}
