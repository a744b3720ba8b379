//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

func init() { apps["chatty"] = serveChatty }

// serveChatty is an application that writes lines to its log, and to its error log that it
// has.
func serveChatty(listener net.Listener, _ time.Time) {
	fmt.Println("begins")
	fmt.Fprintln(os.Stderr, http.Serve(listener, http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			from, _ := strconv.Atoi(r.FormValue("from"))
			to, _ := strconv.Atoi(r.FormValue("to"))
			out := bufio.NewWriter(os.Stdout)
			for i := from; i <= to; i++ {
				fmt.Fprintln(out, "line", i)
			}
			if out.Flush() == nil {
				fmt.Fprintln(os.Stderr, "said", to)
			}
		})))
}

// testOwnLogs: a task whose logs its shepherd writes has no collector of Nomad's beside it,
// and `nomad alloc logs` shows them all the same.
func testOwnLogs(t *testing.T, d *driven) {
	// waited for at the end: Nomad tells of it when its collector has given up
	d.register(drivenJob{id: "twice", config: map[string]any{"logs": []map[string]any{{}}}})
	d.run(drivenJob{id: "own-logs", app: "chatty", noLogs: true,
		config: map[string]any{"listen": "http", "freeze_after": "",
			"logs": []map[string]any{{"max_files": 2, "max_file_size": 1}}}})
	for _, step := range []struct {
		name string
		test func(*driven)
	}{
		{"nobody but the shepherd collects", (*driven).testOnlyCollector},
		{"followed over freezes and parks", (*driven).testFollowed},
		{"rotated", (*driven).testRotated},
		{"gone on with after a restart", (*driven).testLogsAfterRestart},
		{"in the example", (*driven).testLogsOfExample},
		{"refused where Nomad collects", (*driven).testLogsTwice},
	} {
		t.Run(step.name, func(t *testing.T) { step.test(d.in(t)) })
	}
}

func (d *driven) testOnlyCollector() { d.checkOnlyCollector("own-logs") }

// checkOnlyCollector: nobody but a task's shepherd has anything to do with its logs.
func (d *driven) checkOnlyCollector(job string) {
	d.t.Helper()
	alloc := d.alloc(job).ID
	want := []int{shepherdOf(d.t, processesOf(d.t, alloc)[0])}
	if got := writersOf(d.t, alloc); !slices.Equal(got, want) {
		d.t.Errorf("%v have the allocation's logs of %s open, not %v", got, job, want)
	}
}

// On an agent whose config block for the driver has logs, no job has to say anything: Nomad
// starts no collector for any task of the driver. What a task says itself goes before.
func TestDriver_logsInTheAgentsBlock_areForAllTasks(t *testing.T) {
	t.Parallel()
	d := startDrivenWith(t, "logs {\n max_files = 3\n }")
	listens := map[string]any{"listen": "http", "freeze_after": ""}
	own := map[string]any{"listen": "http", "freeze_after": "",
		"logs": []map[string]any{{"max_files": 2, "max_file_size": 1}}}
	d.run(drivenJob{id: "plain", app: "chatty", config: listens})
	d.run(drivenJob{id: "own", app: "chatty", config: own})
	d.run(drivenJob{id: "none", app: "chatty", config: listens, noLogs: true})
	if got := d.node().Attributes["driver.doze.logs"]; got != "true" {
		t.Errorf("driver.doze.logs is %q", got)
	}
	for _, crash := range []func(func()){nil, d.crashAgent(syscall.SIGTERM), d.crashAgent(syscall.SIGKILL)} {
		if crash != nil {
			crash(func() {})
		}
		for _, job := range []string{"plain", "own"} {
			d.checkOnlyCollector(job)
			d.sleep(job, "SIGTSTP", parked)
			d.mustGet(job, "/")
		}
	}
	for _, job := range []string{"plain", "own"} {
		log, err := d.log(job)
		if n := strings.Count(log, "begins\n"); err != nil || n != 4 {
			t.Errorf("%s: its log tells of %d starts of 4: %v", job, n, err)
		}
	}
	if files := d.logFiles("none"); len(files) != 0 {
		t.Errorf("there are %d logs of a task that wants none", len(files))
	}
	d.mustGet("none", "/")
}

// writersOf are the processes that have anything in an allocation's logs directory open.
func writersOf(t testing.TB, allocID string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	fail(t, err)
	var pids []int
	for _, file := range files {
		to, err := os.Readlink(file)
		if err != nil || !strings.Contains(to, allocID+"/alloc/logs/") {
			continue // just closed, or another
		}
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		fail(t, err)
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

func (d *driven) testFollowed() {
	out, errs := d.follow("own-logs", "stdout"), d.follow("own-logs", "stderr")
	out.await(d, "begins\n")
	said := "begins\n"
	for i, signal := range []string{"", "SIGSTOP", "SIGTSTP"} {
		if signal != "" {
			d.sleep("own-logs", signal, map[string]depth{"SIGSTOP": frozen, "SIGTSTP": parked}[signal])
		}
		d.mustGet("own-logs", fmt.Sprintf("/?from=%d&to=%d", i, i))
		if signal == "SIGTSTP" {
			said += "begins\n"
		}
		said += fmt.Sprintln("line", i)
		out.await(d, said)
		errs.await(d, fmt.Sprintln("said", i))
	}
}

// followed is a log that is followed from its beginning on.
type followed struct {
	mu   sync.Mutex
	text strings.Builder
	err  error
}

func (d *driven) follow(job, kind string) *followed {
	d.t.Helper()
	f := &followed{}
	stop := make(chan struct{})
	frames, errs := d.client.AllocFS().Logs(d.alloc(job), true, "app", kind, "start", 0, stop,
		d.query())
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case frame, more := <-frames:
				if !more {
					return
				}
				f.add(frame.Data, nil)
			case err := <-errs:
				f.add(nil, err)
				return
			case <-stop:
				return
			}
		}
	})
	d.t.Cleanup(func() { close(stop); reading.Wait() })
	return f
}

func (f *followed) add(text []byte, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text.Write(text)
	f.err = err
}

// await waits until what was followed ends in the words.
func (f *followed) await(d *driven, words string) {
	d.t.Helper()
	d.await(fmt.Sprintf("%q to be followed", words), func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !strings.HasSuffix(f.text.String(), words) {
			return fmt.Errorf("it is %q, error %v", f.text.String(), f.err)
		}
		return nil
	})
}

// testRotated writes more than the files may hold.
func (d *driven) testRotated() {
	const lines = 400_000 // some 4.5 MB
	d.mustGet("own-logs", fmt.Sprintf("/?from=100&to=%d", lines))
	d.awaitLogEnd("own-logs", fmt.Sprintln("line", lines))
	files := d.logFiles("own-logs")
	if len(files) != 2 {
		d.t.Fatalf("there are %d files", len(files))
	}
	for _, file := range files {
		if file.Size > 1<<20 {
			d.t.Errorf("%s has %d bytes", file.Name, file.Size)
		}
	}
	before, after := indexOf(d.t, files[0].Name), indexOf(d.t, files[1].Name)
	if before > after {
		before, after = after, before
	}
	if before != after-1 || after < 4 {
		d.t.Errorf("the files are %d and %d", before, after)
	}
}

// logFiles are the files of the task's standard output.
func (d *driven) logFiles(job string) []*nomad.AllocFileInfo {
	d.t.Helper()
	files, _, err := d.client.AllocFS().List(d.alloc(job), "alloc/logs", d.query())
	fail(d.t, err)
	return slices.DeleteFunc(files, func(file *nomad.AllocFileInfo) bool {
		return !strings.HasPrefix(file.Name, "app.stdout.")
	})
}

func indexOf(t testing.TB, name string) int {
	t.Helper()
	index, err := strconv.Atoi(strings.TrimPrefix(name, "app.stdout."))
	fail(t, err)
	return index
}

// awaitLogEnd waits until the log's last bytes are these, as `nomad alloc logs -tail` shows
// them.
func (d *driven) awaitLogEnd(job, words string) {
	d.t.Helper()
	d.await(fmt.Sprintf("%q at the end of the log", words), func() error {
		stop := make(chan struct{})
		defer close(stop)
		frames, errs := d.client.AllocFS().Logs(d.alloc(job), false, "app", "stdout", "end",
			int64(len(words)), stop, d.query())
		select {
		case err := <-errs:
			return err
		case frame := <-frames:
			if frame == nil || string(frame.Data) != words {
				return fmt.Errorf("it is %v", frame)
			}
		}
		return nil
	})
}

func (d *driven) testLogsAfterRestart() {
	before := len(d.logFiles("own-logs"))
	fail(d.t, d.client.Allocations().Restart(d.alloc("own-logs"), "app", d.query()))
	d.awaitLogEnd("own-logs", "begins\n")
	if after := len(d.logFiles("own-logs")); after != before {
		d.t.Errorf("there were %d files, and are %d", before, after)
	}
}

// testLogsOfExample: the repository's example of the driver runs as it is.
func (d *driven) testLogsOfExample() {
	source, err := os.ReadFile("../jobs/examples/driver.nomad.hcl")
	fail(d.t, err)
	job, err := d.client.Jobs().ParseHCLOpts(&nomad.JobsParseRequest{JobHCL: string(source),
		Variables: "doze = " + strconv.Quote(d.plugin)})
	fail(d.t, err)
	_, _, err = d.client.Jobs().Register(job, d.write())
	fail(d.t, err)
	d.t.Cleanup(func() {
		_, _, err := d.client.Jobs().Deregister(*job.ID, true, d.write())
		fail(d.t, err)
	})
	d.awaitRunning(*job.ID)
	d.mustGet(*job.ID, "/")
	if files := d.logFiles(*job.ID); len(files) != 1 {
		d.t.Errorf("its log has %d files", len(files))
	}
}

func (d *driven) testLogsTwice() {
	d.awaitEvent("twice", "config > logs: Nomad collects this task's logs already; "+
		"write logs { disabled = true } in the task, beside config")
}

// On the embedded cluster it is as on a real Nomad.
func TestDriver_ownLogsOnTheEmbeddedCluster_areServed(t *testing.T) {
	d := startEmbeddedDriven(t)
	d.run(drivenJob{id: "own-logs", app: "chatty", noLogs: true,
		config: map[string]any{"listen": "http", "logs": []map[string]any{{}}}})
	d.sleep("own-logs", "SIGTSTP", parked)
	d.mustGet("own-logs", "/?from=1&to=2")
	d.awaitLog("own-logs", "begins\nbegins\nline 1\nline 2\n")
}
