//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// testFailures: whatever goes wrong with a task ends in a task event that says what, where and,
// where that is not plain, what to do about it.
func testFailures(t *testing.T, d *driven) {
	for _, c := range slices.Concat(wrongPrograms(), wrongPlaces(t), wrongLives()) {
		t.Run(c.job.id, func(t *testing.T) {
			t.Parallel()
			d.in(t).goWrong(c)
		})
	}
	for name, test := range map[string]func(*driven){
		"killed while frozen": (*driven).testKilledFrozen,
		"fork bomb":           (*driven).testForkBomb,
		"deaf to TERM":        (*driven).testDeafToTERM,
		"crash loop":          (*driven).testCrashLoop,
		"lifecycle":           (*driven).testLifecycle,
		"full disk":           (*driven).testFullLogs,
		"full disk, Nomad's":  (*driven).testFullNomadLogs,
		"lost while awake":    func(d *driven) { d.testLost(awake) },
		"lost while frozen":   func(d *driven) { d.testLost(frozen) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(d.in(t))
		})
	}
}

// wrong is a task that goes wrong.
type wrong struct {
	job  drivenJob
	do   string // the request that makes it, "": none
	want []string
}

// wrongPrograms can't be started.
func wrongPrograms() []wrong {
	command := func(path string, args ...string) map[string]any {
		return map[string]any{"command": path, "args": args}
	}
	return []wrong{
		{drivenJob{id: "config", config: map[string]any{"listen": "htpp", "start": "lazy"}}, "",
			[]string{`config > start: is "lazy"`, `no port is labelled "htpp"; there are http`}},
		{drivenJob{id: "missing", config: command("local/nothing")}, "",
			[]string{"there is no command", "local/nothing"}},
		{drivenJob{id: "directory", config: command("/usr/bin")}, "",
			[]string{`command "/usr/bin" is a directory`}},
		{drivenJob{id: "plain", config: command("web"), edit: withFile("local/web", "0644", "x")}, "",
			[]string{`local/web" is not executable (mode 0644); chmod +x`}},
		{drivenJob{id: "garbage", config: command("web"),
			edit: withFile("local/web", "0755", "x")}, "",
			[]string{"exec format error: it is empty, made for another kind of machine"}},
		{drivenJob{id: "script", config: command("web"),
			edit: withFile("local/web", "0755", "#!/no/such/sh\n")}, "",
			[]string{`its first line asks for "/no/such/sh", which is not there`}},
		{drivenJob{id: "user", edit: asUser("no-such-user")}, "",
			[]string{`cannot run the task as user "no-such-user": this node has no user`}},
		{drivenJob{id: "root", edit: asUser("root")}, "",
			[]string{`cannot run the task as user "root", which is root's`, "allow_root = true"}},
	}
}

// wrongPlaces are ports that can't be had.
func wrongPlaces(t *testing.T) []wrong {
	squatter, err := net.Listen("tcp", "127.0.0.1:0")
	fail(t, err)
	t.Cleanup(func() { fail(t, squatter.Close()) })
	listen := map[string]any{"listen": "http"}
	twice := func(job *nomad.Job) {
		second := *job.TaskGroups[0].Tasks[0]
		second.Name = "second"
		job.TaskGroups[0].Tasks[0].Lifecycle = &nomad.TaskLifecycle{Hook: "poststart", Sidecar: true}
		job.TaskGroups[0].AddTask(&second)
	}
	return []wrong{
		{drivenJob{id: "squat", config: listen, port: squatter.Addr().(*net.TCPAddr).Port}, "",
			[]string{"the port is in use by another process"}},
		{drivenJob{id: "twice", config: listen, edit: twice}, "",
			[]string{"or by another task of the group with the same listen"}},
		{drivenJob{id: "deaf", config: map[string]any{"listen": "http", "wake_timeout": "1s"},
			env: map[string]string{"E2E_DELAY": "1h"}}, "",
			[]string{"wake timed out after 1s: no target passed its probe",
				"the task listens nowhere"}},
		{drivenJob{id: "closed", config: map[string]any{"listen": "http", "wake_timeout": "1s"}},
			"/close", []string{"no target passed its probe", "the task listens nowhere"}},
		{drivenJob{id: "deaf-socket", config: socketWithin("1s"),
			env: map[string]string{"E2E_DELAY": "1h"}}, "",
			[]string{"wake timed out after 1s: no target passed its probe",
				"the application has not accepted a connection"}},
		{drivenJob{id: "closed-socket", config: socketWithin("1s")}, "/close",
			[]string{"no target passed its probe", "the application has not accepted a connection"}},
	}
}

// socketWithin is a task's that holds its socket and has so long to accept a connection.
func socketWithin(timeout string) map[string]any {
	config := socketConfig("30s", "")
	config["wake_timeout"] = timeout
	return config
}

// wrongLives end.
func wrongLives() []wrong {
	sh := func(script string) map[string]any {
		return map[string]any{"command": "/bin/sh", "args": []string{"-c", script}}
	}
	return []wrong{
		{drivenJob{id: "memory", config: map[string]any{"listen": "http"}}, "/eat",
			[]string{"Exit Code: 137, Signal: 9", "OOM Killed", "at its limit of 64 MiB"}},
		{drivenJob{id: "small", config: sh("exec tail /dev/zero"), edit: withMemory(10)}, "",
			[]string{"OOM Killed", "at its limit of 10 MiB"}},
		{drivenJob{id: "crash", config: map[string]any{"listen": "http"},
			env: map[string]string{"E2E_EXIT": "5"}}, "", []string{"Exit Code: 5"}},
		{drivenJob{id: "done", config: sh("exit 0")}, "", []string{"Exit Code: 0", "Not Restarting"}},
		{drivenJob{id: "daemon", config: sh("sleep 1000 & exit 0")}, "",
			[]string{"left 1 of its processes behind (s", "Exit Code: 0"}},
	}
}

// withFile has the task's directory hold a file.
func withFile(path, mode, text string) func(*nomad.Job) {
	return func(job *nomad.Job) {
		task := job.TaskGroups[0].Tasks[0]
		task.Templates = append(task.Templates, &nomad.Template{
			EmbeddedTmpl: &text, DestPath: &path, Perms: &mode})
	}
}

func withMemory(megabytes int) func(*nomad.Job) {
	return func(job *nomad.Job) { job.TaskGroups[0].Tasks[0].Resources.MemoryMB = &megabytes }
}

func asUser(name string) func(*nomad.Job) {
	return func(job *nomad.Job) { job.TaskGroups[0].Tasks[0].User = name }
}

// testKilledFrozen: the end of a frozen process is told at once.
func (d *driven) testKilledFrozen() {
	d.run(drivenJob{id: "killed", config: map[string]any{"listen": "http"}})
	d.whoAnswers("killed")
	d.sleep("killed", "SIGSTOP", frozen)
	fail(d.t, syscall.Kill(processesOf(d.t, d.alloc("killed").ID)[0], syscall.SIGKILL))
	d.awaitEvent("killed", "Exit Code: 137, Signal: 9")
}

// testForkBomb: a fork bomb stays within its limit, is told of, lets its task answer, and ends
// with it.
func (d *driven) testForkBomb() {
	const limit = 64
	d.run(drivenJob{id: "bomb", config: map[string]any{"command": "/bin/sh", "pids_limit": limit,
		"listen": "http", "args": []string{"-c", "b() { b & b; }; (b) & exec " + d.app}}})
	alloc := d.alloc("bomb").ID
	d.awaitEvent("bomb", "it has reached its limit of 64 processes and threads (pids_limit)")
	d.whoAnswers("bomb")
	if n := len(processesOf(d.t, alloc)); n > limit {
		d.t.Errorf("there are %d processes, above the limit of %d", n, limit)
	}
	d.stop("bomb")
	d.await("every process to end", func() error { return noneOf(processesOf(d.t, alloc)) })
}

// testDeafToTERM: a task that has to be killed is said to have been.
func (d *driven) testDeafToTERM() {
	d.run(drivenJob{id: "stubborn", config: map[string]any{"listen": "http"},
		env: map[string]string{"E2E_STUBBORN": "1"}})
	d.whoAnswers("stubborn")
	d.stop("stubborn")
	d.awaitEvent("stubborn", "SIGTERM did not end it within 2s: it is killed")
	d.awaitEvent("stubborn", "Exit Code: 137, Signal: 9")
}

// testCrashLoop: whoever waits for a task that dies before it is ready is let go, each time
// that Nomad starts it again.
func (d *driven) testCrashLoop() {
	d.run(drivenJob{id: "loop", config: map[string]any{"listen": "http", "start": "on_demand"},
		env: map[string]string{"E2E_DELAY": "300ms", "NOMAD_ADDR_http": "nonsense $DOZE_PORT"},
		edit: func(job *nomad.Job) {
			job.TaskGroups[0].RestartPolicy = &nomad.RestartPolicy{Attempts: new(5),
				Mode: new("fail"), Delay: new(100 * time.Millisecond), Interval: new(time.Minute)}
		}})
	for restarts := range uint64(2) {
		began := time.Now()
		if _, err := d.get("loop", "/"); err == nil {
			d.t.Error("a task that can't listen has answered")
		}
		if held := time.Since(began); held > 8*time.Second {
			d.t.Errorf("its client was held for %s", held)
		}
		d.await("a restart", func() error {
			if state := d.task("loop"); state.Restarts <= restarts || state.State != "running" {
				return fmt.Errorf("it is %s after %d restarts", state.State, state.Restarts)
			}
			return nil
		})
	}
	d.awaitEvent("loop", "Exit Code: 1")
}

// testLifecycle: tasks before, beside and after the main one are tasks like any other.
func (d *driven) testLifecycle() {
	d.run(drivenJob{id: "cycle", config: map[string]any{"listen": "http"},
		edit: func(job *nomad.Job) {
			for name, life := range map[string]nomad.TaskLifecycle{"before": {Hook: "prestart"},
				"beside": {Hook: "prestart", Sidecar: true}, "after": {Hook: "poststop"}} {
				task := nomad.NewTask(name, "doze")
				task.SetConfig("command", "/bin/sh")
				task.SetConfig("args", []string{"-c",
					"[ $NOMAD_TASK_NAME != beside ] || exec sleep 1000"})
				task.Lifecycle = &life
				task.Resources = &nomad.Resources{CPU: new(20), MemoryMB: new(32)}
				job.TaskGroups[0].AddTask(task)
			}
		}})
	d.whoAnswers("cycle")
	d.stop("cycle")
	for task, words := range map[string]string{"before": "Exit Code: 0", "after": "Exit Code: 0",
		"app": "Exit Code: ", "beside": "Exit Code: 143, Signal: 15"} {
		d.await(task+" to end", func() error {
			state := d.alloc("cycle").TaskStates[task]
			if state == nil || state.State != "dead" || !strings.Contains(eventsOf(state), words) {
				return fmt.Errorf("it is %+v", state)
			}
			return nil
		})
	}
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

func (d *driven) goWrong(w wrong) {
	d.t.Helper()
	d.register(w.job)
	if w.do != "" {
		d.whoAnswers(w.job.id)
		_, _ = d.get(w.job.id, w.do) // the app dies of it
		_, _ = d.get(w.job.id, "/")  // or cannot answer any more
	}
	for _, words := range w.want {
		d.awaitEvent(w.job.id, words)
	}
}
