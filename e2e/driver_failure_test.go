//go:build e2e

package e2e

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// testFailures: whatever goes wrong with a task ends in a task event that says what.
func testFailures(t *testing.T, d *driven) {
	squatter, err := net.Listen("tcp", "127.0.0.1:0")
	fail(t, err)
	defer squatter.Close()
	listen := map[string]any{"listen": "http"}
	for _, c := range []struct {
		job  drivenJob
		do   string // the request that makes it go wrong
		want []string
	}{
		{drivenJob{id: "config", config: map[string]any{"listen": "htpp", "start": "lazy"}}, "",
			[]string{`config > start: is "lazy"`, `no port is labelled "htpp"; there are http`}},
		{drivenJob{id: "missing", config: map[string]any{"command": "local/nothing"}}, "",
			[]string{"local/nothing"}},
		{drivenJob{id: "squat", config: listen, port: squatter.Addr().(*net.TCPAddr).Port}, "",
			[]string{"the port is in use"}},
		{drivenJob{id: "memory", config: listen}, "/eat",
			[]string{"Exit Code: 137, Signal: 9", "OOM Killed"}},
		{drivenJob{id: "crash", config: listen, env: map[string]string{"E2E_EXIT": "5"}}, "",
			[]string{"Exit Code: 5"}},
		{drivenJob{id: "deaf", config: map[string]any{"listen": "http", "wake_timeout": "1s"},
			env: map[string]string{"E2E_DELAY": "1h"}}, "", []string{"no target passed its probe"}},
		{drivenJob{id: "closed", config: map[string]any{"listen": "http", "wake_timeout": "1s"}},
			"/close", []string{"no target passed its probe"}},
	} {
		t.Run(c.job.id, func(t *testing.T) { d.in(t).goWrong(c.job, c.do, c.want) })
	}
	t.Run("killed while frozen", func(t *testing.T) { d.in(t).testKilledFrozen() })
	t.Run("fork bomb", func(t *testing.T) { d.in(t).testForkBomb() })
	for _, depth := range []depth{awake, frozen} {
		t.Run("shepherd lost while "+string(depth), func(t *testing.T) { d.in(t).testLost(depth) })
	}
}

// testKilledFrozen: the end of a frozen process is told at once.
func (d *driven) testKilledFrozen() {
	d.run(drivenJob{id: "killed", config: map[string]any{"listen": "http"}})
	d.whoAnswers("killed")
	d.sleep("killed", "SIGSTOP", frozen)
	fail(d.t, syscall.Kill(processesOf(d.t, d.alloc("killed").ID)[0], syscall.SIGKILL))
	d.awaitEvent("killed", "Exit Code: 137, Signal: 9")
}

// testForkBomb: a fork bomb stays within its limit, and ends with its task.
func (d *driven) testForkBomb() {
	const limit = 64
	d.run(drivenJob{id: "bomb", config: map[string]any{"command": "/bin/sh", "pids_limit": limit,
		"args": []string{"-c", "b() { b & b; }; (b); exec sleep 1000"}}})
	alloc := d.alloc("bomb").ID
	time.Sleep(time.Second)
	if n := len(processesOf(d.t, alloc)); n > limit {
		d.t.Errorf("there are %d processes, above the limit of %d", n, limit)
	}
	_, _, err := d.client.Jobs().Deregister("bomb", false, d.write())
	fail(d.t, err)
	d.await("every process to end", func() error { return noneOf(processesOf(d.t, alloc)) })
}

// testLost: a task whose shepherd is killed has failed, and is gone too.
func (d *driven) testLost(depth depth) {
	job := "lost-" + string(depth)
	d.run(drivenJob{id: job, config: map[string]any{"listen": "http", "freeze_after": ""}})
	d.whoAnswers(job)
	if depth == frozen {
		d.sleep(job, "SIGSTOP", frozen)
	}
	alloc := d.alloc(job).ID
	fail(d.t, syscall.Kill(shepherdOf(d.t, processesOf(d.t, alloc)[0]), syscall.SIGKILL))
	d.awaitEvent(job, "the task's shepherd has ended")
	d.await("every process to end", func() error { return noneOf(processesOf(d.t, alloc)) })
}

func (d *driven) goWrong(job drivenJob, do string, want []string) {
	d.t.Helper()
	d.register(job)
	if do != "" {
		d.whoAnswers(job.id)
		_, _ = d.get(job.id, do)  // the app dies of it
		_, _ = d.get(job.id, "/") // or cannot answer any more
	}
	for _, words := range want {
		d.awaitEvent(job.id, words)
	}
}
