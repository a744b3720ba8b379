package plugins_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"doze/internal/realnomad"
)

const processJob = `
job "sdk" {
  group "g" {
    task "t" {
      driver       = "process"
      kill_timeout = "2s"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo pid $$ in ${NOMAD_TASK_NAME}; exec sleep 600"]
      }
      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
  update { max_parallel = 0 }
}`

// world is a real agent with the process driver in its plugin_dir, and one task.
type world struct {
	t     *testing.T
	agent *realnomad.Agent
	alloc string
}

func TestRealNomad_processDriver_startsLogsExecutesRecoversAndStops(t *testing.T) {
	w := newWorld(t)
	w.run()
	pid := w.pid()
	w.executes()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		w.must("end the agent", w.agent.End(sig))
		w.must("start the agent again", w.agent.Launch())
		w.await(fmt.Sprintf("the task after %v", sig), w.running)
		w.await("the node", w.healthy)
		if again := w.pid(); again != pid {
			t.Fatalf("after %v of the agent the task is another process: %s, was %s", sig, again, pid)
		}
		w.executes() // only a recovered task can
	}
	w.stop(pid)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIP: -short; the SDK was not tried with a real Nomad")
	}
	plugins := t.TempDir()
	copySelf(t, filepath.Join(plugins, "sdkdriver"))
	t.Setenv(driverVar, "process") // agents hand their environment down
	agent, err := realnomad.Start(realnomad.Config{
		PluginDir: plugins, Extra: `plugin "sdkdriver" {}`})
	if errors.Is(err, realnomad.ErrNotFound) {
		t.Skip("SKIP: nomad is not on PATH; the SDK was not tried with a real Nomad")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{t: t, agent: agent}
}

func copySelf(t *testing.T, to string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, binary, 0o755); err != nil {
		t.Fatal(err)
	}
}

func (w *world) must(what string, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("cannot %s: %v", what, err)
	}
}

// await looks again and again: the agent is another program, with a clock of its own.
func (w *world) await(what string, is func() error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := is()
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(w.agent.Log()) // only to help
			w.t.Fatalf("cannot see %s: %v\n%s", what, err, tail(log, 4000))
		}
	}
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

func (w *world) healthy() error {
	nodes, _, err := w.agent.Client().Nodes().List(nil)
	if err != nil || len(nodes) == 0 {
		return fmt.Errorf("there is no node: %w", err)
	}
	node, _, err := w.agent.Client().Nodes().Info(nodes[0].ID, nil)
	if err != nil {
		return err
	}
	d := node.Drivers["process"]
	if d == nil || !d.Healthy || d.HealthDescription != "it is there" ||
		node.Attributes["driver.process.kind"] != "plain" || node.Status != "ready" {
		return fmt.Errorf("the driver is %+v on a node that is %s", d, node.Status)
	}
	return nil
}

func (w *world) run() {
	w.t.Helper()
	w.await("the driver", w.healthy)
	job, err := w.agent.Client().Jobs().ParseHCL(processJob, true)
	w.must("parse the job", err)
	_, _, err = w.agent.Client().Jobs().Register(job, nil)
	w.must("register the job", err)
	w.await("the task", w.running)
}

func (w *world) running() error {
	allocs, _, err := w.agent.Client().Jobs().Allocations("sdk", true, nil)
	if err != nil || len(allocs) != 1 {
		return fmt.Errorf("there are %d allocations: %w", len(allocs), err)
	}
	w.alloc = allocs[0].ID
	task := allocs[0].TaskStates["t"]
	if allocs[0].ClientStatus != "running" || task == nil || task.State != "running" {
		return fmt.Errorf("the allocation is %s", allocs[0].ClientStatus)
	}
	for _, e := range task.Events {
		if e.Type == "Driver" && strings.Contains(e.DriverMessage+e.DisplayMessage, "Began as a process") {
			return nil
		}
	}
	return errors.New("there is no event of the driver")
}

// pid is what the task has written to its log.
func (w *world) pid() (pid string) {
	w.t.Helper()
	w.await("the task's log", func() error {
		alloc, _, err := w.agent.Client().Allocations().Info(w.alloc, nil)
		if err != nil {
			return err
		}
		log, err := w.agent.Client().AllocFS().Cat(alloc, "alloc/logs/t.stdout.0", nil)
		if err != nil {
			return err
		}
		defer log.Close()
		text, err := io.ReadAll(log)
		if err != nil {
			return err
		}
		if n, err := fmt.Sscanf(string(text), "pid %s in t\n", &pid); n != 1 {
			return fmt.Errorf("the log is %q: %w", text, err)
		}
		return nil
	})
	return pid
}

func (w *world) executes() {
	w.t.Helper()
	alloc, _, err := w.agent.Client().Allocations().Info(w.alloc, nil)
	w.must("read the allocation", err)
	w.await("a command's output", func() error {
		var stdout, stderr bytes.Buffer
		code, err := w.agent.Client().Allocations().Exec(w.t.Context(), alloc, "t", false,
			[]string{"/bin/sh", "-c", "cat; exit 4"}, strings.NewReader("through exec"),
			&stdout, &stderr, nil, nil)
		if err != nil || code != 4 || stdout.String() != "through exec" {
			return fmt.Errorf("it ended with %d, %w and wrote %q", code, err, stdout.String())
		}
		return nil
	})
}

func (w *world) stop(pid string) {
	w.t.Helper()
	_, _, err := w.agent.Client().Jobs().Deregister("sdk", false, nil)
	w.must("stop the job", err)
	w.await("the task's end", func() error {
		alloc, _, err := w.agent.Client().Allocations().Info(w.alloc, nil)
		if err != nil {
			return err
		}
		if alloc.ClientStatus != "complete" && alloc.ClientStatus != "failed" {
			return fmt.Errorf("the allocation is %s", alloc.ClientStatus)
		}
		if alloc.TaskStates["t"].Restarts != 0 {
			return fmt.Errorf("the task was restarted %d times", alloc.TaskStates["t"].Restarts)
		}
		if _, err := os.Stat("/proc/" + pid); err == nil {
			return fmt.Errorf("process %s is there", pid)
		}
		return nil
	})
}
