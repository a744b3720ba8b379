package realnomad_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/realnomad"
)

func TestMain(m *testing.M) { os.Exit(realnomad.Main(m)) }

// sleeperJob starts a process that ignores polite signals and has a child.
func sleeperJob(out string) *nomad.Job {
	name := "sleeper-" + strings.ToLower(rand.Text()[:8]) // the agent is there for every -count
	j := nomad.NewServiceJob(name, name, "global", 50)
	j.Datacenters = []string{"*"}
	t := nomad.NewTask("app", "raw_exec")
	t.Config = map[string]any{"command": "/bin/sh", "args": []any{"-c",
		`trap '' INT TERM; sleep 600 & { echo $$; echo $!; echo end; } > "$OUT.tmp"; mv "$OUT.tmp" "$OUT"; wait`}}
	t.KillTimeout = new(100 * time.Millisecond)
	t.Env = map[string]string{"OUT": out}
	g := nomad.NewTaskGroup("web", 1)
	g.Tasks = []*nomad.Task{t}
	j.TaskGroups = []*nomad.TaskGroup{g}
	return j
}

func TestAgent_close_leavesNoProcessAndNoFile(t *testing.T) {
	realnomad.Shared(t, realnomad.Config{}) // says so where there is no nomad
	a, err := realnomad.Start(realnomad.Config{ACL: true})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "pids")
	if _, _, err := a.Client().Jobs().Register(sleeperJob(out), nil); err != nil {
		t.Fatal(errors.Join(err, a.Close()))
	}
	until(t, "the task runs", func() bool {
		b, err := os.ReadFile(out)
		return err == nil && strings.HasSuffix(string(b), "end\n")
	})
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for f := range strings.FieldsSeq(strings.TrimSuffix(string(b), "end\n")) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "process "+f+" is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
	if _, err := os.Stat(a.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the agent's directory is still there: %v", err)
	}
}

func TestAgent_endedAndLaunchedAgain_keepsItsTasks(t *testing.T) {
	a := realnomad.Shared(t, realnomad.Config{})
	out := filepath.Join(t.TempDir(), "pids")
	job := sleeperJob(out)
	if _, _, err := a.Client().Jobs().Register(job, nil); err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		allocs, _, err := a.Client().Jobs().Allocations(*job.ID, false, nil)
		return err == nil && len(allocs) == 1 && allocs[0].ClientStatus == "running"
	}
	until(t, "the allocation runs", running)
	if err := a.End(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := a.Launch(); err != nil {
		t.Fatal(err)
	}
	until(t, "the allocation is found running", running)
}

// Another test process on the machine would give the same ports to its tasks.
func TestAgent_portsOfItsTasks_areClaimed(t *testing.T) {
	a := realnomad.Shared(t, realnomad.Config{})
	nodes, _, err := a.Client().Nodes().List(nil)
	if err != nil {
		t.Fatal(err)
	}
	node, _, err := a.Client().Nodes().Info(nodes[0].ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := fmt.Sprintf("127.0.0.1:%d", node.NodeResources.MinDynamicPort-1)
	if l, err := net.Listen("tcp", first); err == nil {
		t.Error(first, "is free", l.Close())
	}
}

// An agent that hangs when it is to end would pass for one that ends.
func TestAgent_signalDoesNotEndIt_isAnError(t *testing.T) {
	a := realnomad.Shared(t, realnomad.Config{})
	if err := a.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	err := a.End(syscall.SIGTERM)
	if err == nil || !strings.Contains(err.Error(), "cannot end the agent by terminated: it was killed") {
		t.Errorf("got %v", err)
	}
	if err := a.Launch(); err != nil { // the others have the same agent
		t.Fatal(err)
	}
}

func TestAgent_endedByItself_isAnErrorOfEnd(t *testing.T) {
	a := realnomad.Shared(t, realnomad.Config{})
	if err := a.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the API is gone", func() bool {
		_, err := a.Client().Agent().Self()
		return err != nil
	})
	err := a.End(syscall.SIGTERM)
	if err == nil || !strings.Contains(err.Error(), "nomad has ended by itself (signal: killed)") {
		t.Errorf("got %v", err)
	}
	if err := a.Launch(); err != nil {
		t.Fatal(err)
	}
}

// A program that was asked for is run, or it is said why not; nothing is skipped.
func TestStart_programThatWasAskedFor_isRunOrIsAnError(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "nomad-next")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho not a Nomad >&2; exit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "nothing"): "cannot run the Nomad that REALNOMAD_BIN asks for",
		dir:                           "cannot run the Nomad that REALNOMAD_BIN asks for",
		broken:                        "nomad has ended by itself (exit status 3): not a Nomad",
	} {
		t.Setenv("REALNOMAD_BIN", path)
		a, err := realnomad.Start(realnomad.Config{})
		if err == nil {
			err = a.Close()
		}
		if err == nil || errors.Is(err, realnomad.ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, not %q", path, err, want)
		}
	}
}

func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}
