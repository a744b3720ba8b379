package devnomad_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/devnomad"
)

// embedderVar makes the test binary a program that embeds a cluster: it runs a
// family of processes, prints their pids, and waits to be killed.
const embedderVar = "DEVNOMAD_TEST_EMBEDDER"

func embedder() error {
	c, err := devnomad.Start(devnomad.Config{})
	if err != nil {
		return err
	}
	out := filepath.Join(os.Getenv(embedderVar), "pids")
	if _, _, err := c.Client().Jobs().Register(family("embedded", out), nil); err != nil {
		return err
	}
	for {
		if b, err := os.ReadFile(out); err == nil && strings.HasSuffix(string(b), "end\n") {
			fmt.Print(string(b))
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// family is a job whose task ignores every polite signal, and so do its child
// and its grandchild. It writes all the pids to a file.
func family(id, out string) *nomad.Job {
	script := `trap '' INT TERM HUP
sh -c 'trap "" INT TERM HUP; sleep 600 & echo $! $$ > "` + out + `.c"; wait' &
until [ -s "` + out + `.c" ]; do sleep 0.01; done
{ cat "` + out + `.c"; echo $$; echo end; } > "` + out + `.tmp"
mv "` + out + `.tmp" "` + out + `"
wait`
	j := nomad.NewServiceJob(id, id, "global", 50)
	g := nomad.NewTaskGroup("web", 1)
	g.Update = &nomad.UpdateStrategy{MaxParallel: new(0)}
	t := sleeper("app")
	t.Config = map[string]any{"command": "/bin/sh", "args": []any{"-c", script}}
	t.KillTimeout = new(50 * time.Millisecond)
	g.Tasks = []*nomad.Task{t}
	j.TaskGroups = []*nomad.TaskGroup{g}
	return j
}

func realCluster(t *testing.T) *devnomad.Cluster {
	t.Helper()
	c, err := devnomad.Start(devnomad.Config{DataDir: t.TempDir(), Timing: fast})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// fast has no delays that only imitate.
var fast = devnomad.Timing{Placement: -1, StatusTick: time.Millisecond, StatusBatch: -1}

// pids waits for the pids that a family has written.
func pids(t *testing.T, out string) (all []int) {
	t.Helper()
	until(t, "the family is complete", func() bool {
		b, err := os.ReadFile(out)
		return err == nil && strings.HasSuffix(string(b), "end\n")
	})
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for f := range strings.FieldsSeq(strings.TrimSuffix(string(b), "end\n")) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	if len(all) != 3 {
		t.Fatalf("the family is %v", all)
	}
	return all
}

// until polls: what it waits for happens in other processes, which have no
// channel to us.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	// A killed orphan may wait for its new parent to notice.
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

func TestCluster_close_leavesNoProcessOfAnyTask(t *testing.T) {
	c, err := devnomad.Start(devnomad.Config{Timing: fast})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "pids")
	register(t, c, family("j", out))
	all := pids(t, out)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range all {
		until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return gone(pid) })
	}
	if err := c.Close(); err != nil {
		t.Error("closed twice:", err)
	}
}

func TestCluster_scaledToZero_killsTheTasksWholeGroup(t *testing.T) {
	c := realCluster(t)
	out := filepath.Join(t.TempDir(), "pids")
	register(t, c, family("j", out))
	all := pids(t, out)
	scale(t, c, "j", 0)
	for _, pid := range all {
		until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return gone(pid) })
	}
	a := awaitAlloc(t, c, "j", "complete")
	if s := a.TaskStates["app"]; s.Failed || s.State != "dead" {
		t.Errorf("state %q, failed %t", s.State, s.Failed)
	}
}

func TestCluster_leaderExits_takesItsGroupAlong(t *testing.T) {
	c := realCluster(t)
	out := filepath.Join(t.TempDir(), "pids")
	j := family("j", out)
	args := j.TaskGroups[0].Tasks[0].Config["args"].([]any)
	args[1] = strings.TrimSuffix(args[1].(string), "wait") + "exit 0"
	j.TaskGroups[0].RestartPolicy = &nomad.RestartPolicy{Attempts: new(0), Mode: new("fail"),
		Interval: new(time.Minute), Delay: new(time.Second)}
	register(t, c, j)
	for _, pid := range pids(t, out) {
		until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return gone(pid) })
	}
}

func TestCluster_embedderKilled_leavesNoProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), embedderVar+"="+dir, "TMPDIR="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for sc := bufio.NewScanner(out); sc.Scan() && sc.Text() != "end"; {
	}
	all := pids(t, filepath.Join(dir, "pids"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // it was killed: an error is what is wanted
	for _, pid := range all {
		until(t, fmt.Sprintf("process %d is gone", pid), func() bool { return gone(pid) })
	}
	until(t, "the data directory is gone", func() bool {
		left, err := filepath.Glob(filepath.Join(dir, "devnomad-*"))
		return err == nil && len(left) == 0
	})
}

func TestCluster_taskLogs_areKeptInFilesAndServed(t *testing.T) {
	c := realCluster(t)
	j := sleepingJob("j")
	j.TaskGroups[0].Count = new(1)
	j.TaskGroups[0].Tasks[0].Config = map[string]any{"command": "sh",
		"args": []any{"-c", "echo out; echo err >&2; exec sleep 600"}}
	register(t, c, j)
	a := awaitAlloc(t, c, "j", "running")
	for kind, want := range map[string]string{"stdout": "out\n", "stderr": "err\n"} {
		until(t, kind+" is served", func() bool { return servedLog(t, c, a.ID, kind) == want })
	}
}

// servedLog is a log of an allocation's task "app", as the API has it.
func servedLog(t *testing.T, c *devnomad.Cluster, alloc, kind string) string {
	t.Helper()
	resp, err := http.Get(c.Addr() + "/v1/client/fs/logs/" + alloc +
		"?task=app&plain=true&type=" + kind)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A task may write the files itself, and go on to another when one is full.
func TestCluster_logsOfMoreThanOneFile_areServedFromTheOldestOn(t *testing.T) {
	c := realCluster(t)
	j := sleepingJob("j")
	j.TaskGroups[0].Count = new(1)
	task := j.TaskGroups[0].Tasks[0]
	task.LogConfig = &nomad.LogConfig{Disabled: new(true)}
	task.Config = map[string]any{"command": "sh", "args": []any{"-c", `
		cd "$NOMAD_ALLOC_DIR/logs"; echo old > app.stdout.9; echo new > app.stdout.10
		echo other > app.stdout.x; exec sleep 600`}}
	register(t, c, j)
	a := awaitAlloc(t, c, "j", "running")
	until(t, "both are served", func() bool {
		return servedLog(t, c, a.ID, "stdout") == "old\nnew\n"
	})
}

// recorder is a driver that tells what it was asked to start.
type recorder struct{ specs chan devnomad.TaskSpec }

func (r recorder) Start(ctx context.Context, spec devnomad.TaskSpec) (devnomad.Task, error) {
	r.specs <- spec
	return (&devnomad.InProcess{}).Start(ctx, spec)
}

func TestCluster_ownDriver_getsInterpolatedConfigAndNewIDEachStart(t *testing.T) {
	r := recorder{specs: make(chan devnomad.TaskSpec, 10)}
	bubble(t, devnomad.Config{Drivers: map[string]devnomad.Runner{"steam": r}},
		func(t *testing.T, c *devnomad.Cluster) {
			j := sleepingJob("j")
			j.TaskGroups[0].Count = new(1)
			j.TaskGroups[0].Tasks[0].Driver = "steam"
			j.TaskGroups[0].Tasks[0].Config = map[string]any{
				"boiler": []any{map[string]any{"port": "${NOMAD_PORT_http}", "of": "${meta.unknown}", "n": 3}},
			}
			register(t, c, j)
			a := awaitAlloc(t, c, "j", "running")
			first := <-r.specs
			want := fmt.Sprintf("[map[n:3 of:${meta.unknown} port:%d]]", first.Ports[0].Value)
			if got := fmt.Sprint(first.Config["boiler"]); got != want {
				t.Errorf("config %s, want %s", got, want)
			}
			if err := c.Client().Allocations().Restart(&nomad.Allocation{ID: a.ID}, "app",
				nil); err != nil {
				t.Fatal(err)
			}
			second := <-r.specs
			if second.ID == first.ID || second.AllocID != first.AllocID {
				t.Errorf("start IDs %q and %q", first.ID, second.ID)
			}
		})
}
