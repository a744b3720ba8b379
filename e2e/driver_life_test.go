//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// testLife: a task under the driver is all that a task is under Nomad's own.
func testLife(t *testing.T, d *driven) {
	d.run(drivenJob{id: "life", config: map[string]any{"listen": "http", "freeze_after": ""}})
	for _, step := range []struct {
		name string
		test func(*driven)
	}{
		{"runs as its user", (*driven).testUser},
		{"logs", (*driven).testLogs},
		{"exec", (*driven).testExec},
		{"signal", (*driven).testSignal},
		{"stats", (*driven).testStats},
		{"restart", (*driven).testRestart},
		{"restart block", (*driven).testRestartBlock},
		{"stop", (*driven).testStop},
		{"exit code", func(d *driven) {
			d.bringTo("life", awake)
			d.mustGet("life", "/exit?code=7&after=50ms")
			d.awaitEvent("life", "Exit Code: 7")
		}},
	} {
		t.Run(step.name, func(t *testing.T) { step.test(d.in(t)) })
	}
}

// testUser: a task runs as nobody, or as the user and with the group that its job names.
func (d *driven) testUser() {
	d.checkUser("life", "nobody", "")
	d.run(drivenJob{id: "someone", config: map[string]any{"listen": "http"},
		edit: asUser("daemon:adm")})
	d.checkUser("someone", "daemon", "adm")
}

// checkUser compares whom a task's process runs as with what the machine's accounts say.
func (d *driven) checkUser(job, name, group string) {
	d.t.Helper()
	_, uid := d.whoAnswers(job)
	account, err := user.Lookup(name)
	fail(d.t, err)
	gid := account.Gid
	groups, err := account.GroupIds()
	fail(d.t, err)
	if group != "" {
		in, err := user.LookupGroup(group)
		fail(d.t, err)
		gid, groups = in.Gid, []string{in.Gid}
	}
	status := statusOf(d.t, processesOf(d.t, d.alloc(job).ID)[0])
	for _, other := range status["Groups"] {
		if !slices.Contains(groups, other) {
			d.t.Errorf("%s has group %s, which %s:%s has not", job, other, name, group)
		}
	}
	four := func(id string) []string { return []string{id, id, id, id} } // real to file system's
	if uid != account.Uid || !slices.Equal(status["Uid"], four(account.Uid)) ||
		!slices.Equal(status["Gid"], four(gid)) {
		d.t.Errorf("%s runs as %s, of users %v, groups %v; %s:%s is %s:%s",
			job, uid, status["Uid"], status["Gid"], name, group, account.Uid, gid)
	}
}

func (d *driven) testLogs() {
	d.mustGet("life", "/log?line=hello-log")
	d.awaitLog("life", "begins")
	d.awaitLog("life", "hello-log")
}

func (d *driven) testSignal() {
	d.bringTo("life", awake)
	d.signal("life", "SIGUSR1")
	d.awaitLog("life", "told SIGUSR1")
	err := d.client.Allocations().Signal(d.alloc("life"), d.query(), "app", "SIGFOO")
	if err == nil || !strings.Contains(err.Error(), `cannot send signal "SIGFOO"`) {
		d.t.Errorf("an unknown signal: %v", err)
	}
	d.bringTo("life", parked)
	d.signal("life", "SIGUSR1")
	d.awaitEvent("life", "SIGUSR1 reached nobody: the task is parked")
}

func noneOf(pids []int) error {
	if len(pids) > 0 {
		return fmt.Errorf("there are %v", pids)
	}
	return nil
}

// testExec: a command runs in a task at whatever depth, with a terminal and without.
func (d *driven) testExec() {
	for _, depth := range []depth{awake, frozen, parked} {
		for _, tty := range []bool{false, true} {
			d.bringTo("life", depth)
			var out, errs bytes.Buffer
			ctx, cancel := context.WithTimeout(d.t.Context(), 20*time.Second)
			defer cancel()
			command := []string{"/bin/sh", "-c", "read a; echo got $a $NOMAD_TASK_NAME; exit 3"}
			code, err := d.client.Allocations().Exec(ctx, d.alloc("life"), "app", tty, command,
				strings.NewReader("word\n"), &out, &errs, nil, d.query())
			if err != nil || code != 3 || !strings.Contains(out.String(), "got word app") {
				d.t.Errorf("%s, tty %t: exit code %d, %v: %q %q",
					depth, tty, code, err, out.String(), errs.String())
			}
		}
	}
}

// testStats: what Nomad is told that a task uses is what its process uses, awake and frozen.
// A parked one has none of the app's memory, and that is no error.
func (d *driven) testStats() {
	for _, depth := range []depth{awake, frozen, parked} {
		d.bringTo("life", depth)
		since := time.Now()
		d.await(fmt.Sprintf("stats of a task that is %s", depth), func() error {
			stats, err := d.client.Allocations().Stats(d.alloc("life"), d.query())
			if err != nil {
				return err
			}
			usage := stats.Tasks["app"]
			if usage == nil || time.Unix(0, usage.Timestamp).Before(since) {
				return fmt.Errorf("there are none since: %+v", usage)
			}
			return d.compareUsage(usage.ResourceUsage, depth)
		})
	}
}

// compareUsage compares what Nomad was told with what the kernel says of the processes. The
// cgroup's counters lag behind by some pages.
func (d *driven) compareUsage(told *nomad.ResourceUsage, depth depth) error {
	var resident uint64 // of the processes' own memory
	for _, pid := range processesOf(d.t, d.alloc("life").ID) {
		kib, err := strconv.ParseUint(statusOf(d.t, pid)["RssAnon"][0], 10, 64)
		fail(d.t, err)
		resident += kib << 10
	}
	rss, cpu := told.MemoryStats.RSS, told.CpuStats.Percent
	switch {
	case (resident == 0) != (depth == parked):
		return fmt.Errorf("its processes take %d bytes", resident)
	case rss < resident/2 || rss > 2*resident+1<<20:
		return fmt.Errorf("they tell of %d bytes, its processes take %d", rss, resident)
	case depth != awake && cpu != 0:
		return fmt.Errorf("they tell of %v %% of a processor", cpu)
	}
	return nil
}

// get asks the job's task; it fails as requests do.
func (d *driven) get(job, path string) (string, error) { return get(d.addr(job), path) }

// get asks whoever listens at an address.
func get(addr, path string) (string, error) {
	client := &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + addr + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func (d *driven) mustGet(job, path string) string {
	d.t.Helper()
	body, err := d.get(job, path)
	fail(d.t, err)
	return body
}

// whoAnswers is the process at the task's port, by when it began, and its user.
func (d *driven) whoAnswers(job string) (life, uid string) {
	d.t.Helper()
	d.await(job+" to answer", func() error {
		body, err := d.get(job, "/")
		if err != nil {
			return err
		}
		life, uid, _ = strings.Cut(body, " ")
		return nil
	})
	return life, uid
}

// awaitLog waits for words in the task's standard output, as Nomad has collected it.
func (d *driven) awaitLog(job, words string) {
	d.t.Helper()
	d.await(fmt.Sprintf("%q in the log of %s", words, job), func() error {
		log, err := d.log(job)
		if err == nil && !strings.Contains(log, words) {
			err = fmt.Errorf("it is %q", log)
		}
		return err
	})
}

// log is the task's standard output, as Nomad has collected it until now.
func (d *driven) log(job string) (string, error) {
	d.t.Helper()
	stop := make(chan struct{})
	defer close(stop)
	frames, errs := d.client.AllocFS().Logs(d.alloc(job), false, "app", "stdout", "start", 0,
		stop, d.query())
	var log strings.Builder
	for {
		select {
		case err := <-errs:
			return "", err
		case frame, more := <-frames:
			if frame == nil || !more {
				return log.String(), nil
			}
			log.Write(frame.Data)
		}
	}
}
