package plugins_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

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
