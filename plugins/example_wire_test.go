package plugins_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"doze/plugins/drivers"
	"doze/plugins/drivertest"
)

func TestExample_wholeFile_isAtMost60Lines(t *testing.T) {
	text, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 60 {
		t.Errorf("the driver in 60 lines has %d", lines)
	}
}

// From here on as its reader would see it: over the real socket.

func sh(script string) map[string]any {
	return map[string]any{"command": "/bin/sh", "args": []string{"-c", script}}
}

func TestExample_taskEndsByItself_tellsHow(t *testing.T) {
	a := drivertest.Boot(t, drivertest.Config{Command: plugin(t, "plain")})
	for script, want := range map[string]drivers.ExitResult{
		"exit 3": {Code: 3}, "true": {}, "kill -9 $$": {Signal: 9},
	} {
		task := a.NewTask("task", sh(script))
		if _, err := a.Run(task.TaskConfig); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if r, err := a.Wait(t.Context(), task.ID); err != nil || r != want {
				t.Errorf("Wait for %q returned %+v, %v, want %+v", script, r, err, want)
			}
		}
		if err := a.Forget(task.ID); err != nil {
			t.Error(err)
		}
	}
}

func TestExample_pluginKilled_recoversStopsAndDestroys(t *testing.T) {
	a := drivertest.Boot(t, drivertest.Config{Command: plugin(t, "plain")})
	task := a.NewTask("task", sh("echo ready; exec sleep 600"))
	if _, err := a.Run(task.TaskConfig); err != nil {
		t.Fatal(err)
	}
	if err := a.CrashPlugin(); err != nil {
		t.Fatalf("the task was not recovered: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Wait(short, task.ID); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the recovered task's Wait returned %v", err)
	}
	if err := a.Stop(t.Context(), task.ID, drivers.StopRequest{Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if r, err := a.Wait(t.Context(), task.ID); err != nil || r.Message == "" {
		t.Errorf("Wait for a task of an earlier process returned %+v, %v: "+
			"nobody can know its exit code", r, err)
	}
	if err := a.Forget(task.ID); err != nil {
		t.Error(err)
	}
	if _, err := a.Wait(t.Context(), task.ID); !errors.Is(err, drivers.ErrTaskNotFound) {
		t.Errorf("Wait for a destroyed task returned %v", err)
	}
	if got := task.Stdout.Text(); got != "ready\n" {
		t.Errorf("the log is %q", got)
	}
}
