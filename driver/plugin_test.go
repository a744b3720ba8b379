package driver_test

import (
	"fmt"
	"net/http"
	"os"
	"syscall"
	"testing"

	"doze/driver"
	"doze/driver/shepherd"
	"doze/plugins/drivers"
	"doze/plugins/drivertest"
	"doze/plugins/host"
)

// TestMain is also the plugin, its tasks' shepherds, and an app that listens: the program that
// they start is this one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "shepherd" {
		syscall.Exit(shepherd.Main()) // os.Exit takes a second with the race detector
	}
	if len(os.Args) > 1 && os.Args[1] == "listen" {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(":"+os.Getenv("DOZE_PORT"), nil))
		os.Exit(1)
	}
	if len(os.Args) > 2 && os.Args[1] == apartArg {
		fmt.Fprintln(os.Stderr, standApart(os.Args[2]))
		os.Exit(1)
	}
	if driver.IsPlugin() {
		os.Exit(driver.Main("0.1.0"))
	}
	os.Exit(m.Run())
}

// subject is the driver as an agent runs it, its tasks as root since the tests' directories
// are root's alone.
func subject(t *testing.T) drivertest.Subject {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIP: not root; the driver was not held to Nomad's contract")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	state, err := os.MkdirTemp("", "doze")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(state); err != nil {
			t.Errorf("a task has left something behind: %v", err)
		}
	})
	return drivertest.Subject{
		Config: drivertest.Config{
			Command: host.Command{Path: program},
			Plugin:  map[string]any{"state_dir": state, "user": "root", "allow_root": true},
		},
		Long:    map[string]any{"command": "sleep", "args": []any{"1000"}},
		Short:   map[string]any{"command": "true"},
		Prepare: keepReading,
	}
}

// keepReading has a reader at the task's logs all the time: an agent opens them again before
// each start.
func keepReading(t *testing.T, task *drivertest.Task) {
	for _, path := range []string{task.StdoutPath, task.StderrPath} {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The plugin's own process, over its socket, used and killed as an agent does it.
func TestPlugin_nomadsContract_isKept(t *testing.T) {
	drivertest.Contract(t, subject(t))
}

// The same with a task that listens, and is frozen and then parked where the plugin and the
// agent are restarted.
func TestPlugin_nomadsContract_isKeptBySleepingTasksToo(t *testing.T) {
	s := subject(t)
	s.Long = map[string]any{"command": s.Command.Path, "args": []any{"listen"}, "listen": "http",
		"freeze_after": ""}
	s.Signals = []string{"SIGCONT", "SIGSTOP", "SIGTSTP"} // the first waits until it is ready
	hosts := 0
	s.Prepare = func(t *testing.T, task *drivertest.Task) {
		keepReading(t, task)
		hosts++ // each has a loopback address of its own: no port of it is taken
		task.Resources.Ports = []drivers.Port{{Label: "http", Value: 8080,
			HostIP: fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()%250, hosts/250, 1+hosts%250)}}
	}
	drivertest.Contract(t, s)
}
