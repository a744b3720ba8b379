package plugins_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"doze/plugins/drivers"
	"doze/plugins/drivertest"
)

func TestExample_contract_isKept(t *testing.T) {
	drivertest.Contract(t, drivertest.Subject{
		Config: drivertest.Config{Command: plugin(t, "plain")},
		Long:   sh("exec sleep 600"),
		Short:  sh("exit 0"),

		Forgetful: true,
	})
}

func TestProcess_contract_isKept(t *testing.T) {
	drivertest.Contract(t, drivertest.Subject{
		Config: drivertest.Config{Command: plugin(t, "process")},
		Long:   sh("exec sleep 600"),
		Short:  sh("exit 0"),

		Forgetful: true,
	})
}

// A log's reader ends with its last writer: the process itself is that, also when
// the plugin has died.
func TestLog_taskOutlivesThePlugin_goesOn(t *testing.T) {
	a := drivertest.Boot(t, drivertest.Config{Command: plugin(t, "process")})
	task := a.NewTask("task", map[string]any{"command": "/bin/sh",
		"args": []string{"-c", "echo one; read line <go; echo two"}})
	if err := syscall.Mkfifo(filepath.Join(task.TaskDir(), "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(task.TaskConfig); err != nil {
		t.Fatal(err)
	}
	if err := a.CrashPlugin(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(task.TaskDir(), "go"), []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	<-task.Stdout.Ended()
	if got := task.Stdout.Text(); got != "one\ntwo\n" {
		t.Errorf("the log is %q", got)
	}
	if r, err := a.Wait(t.Context(), task.ID); err != nil || r.Message == "" {
		t.Errorf("Wait returned %+v, %v", r, err)
	}
}

func TestStreams_callersLeave_noGoroutineIsLeft(t *testing.T) {
	a := drivertest.Boot(t, drivertest.Config{Command: plugin(t, "process")})
	task := a.NewTask("task", sh("exec sleep 600"))
	if _, err := a.Run(task.TaskConfig); err != nil {
		t.Fatal(err)
	}
	leave := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		var callers sync.WaitGroup
		callers.Go(func() { _, _ = a.Wait(ctx, task.ID) }) // all are left
		callers.Go(func() { _ = a.Fingerprint(ctx, func(drivers.Fingerprint) error { return nil }) })
		callers.Go(func() { _ = a.Events(ctx, func(drivers.Event) error { return nil }) })
		callers.Go(func() {
			_ = a.Stats(ctx, task.ID, time.Second, func(drivers.Stats) error { return nil })
		})
		callers.Go(func() {
			_, _ = a.ExecStream(ctx, task.ID, drivers.Session{Command: []string{"sleep", "600"}})
		})
		callers.Wait()
	}
	leave()
	before := goroutines(t, a, task.ID)
	for range 20 {
		leave()
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-again.C {
		now := goroutines(t, a, task.ID)
		if now <= before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the plugin has %d goroutines, it had %d", now, before)
		}
	}
}

// goroutines counts those of the plugin.
func goroutines(t *testing.T, a *drivertest.Agent, id string) int {
	t.Helper()
	out, err := a.Exec(t.Context(), id, []string{"goroutines"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(out.Stdout))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
