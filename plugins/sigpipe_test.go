package plugins_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"doze/plugins/drivertest"
)

// What a process ignores, all that it starts ignores too: a task of which nobody reads would
// write for good. TestProcess_agentKilled_pluginSurvivesItsNextLogLines is the other half.
func TestStart_sigpipe_isNotIgnoredInTheTask(t *testing.T) {
	a := drivertest.Boot(t, drivertest.Config{Command: plugin(t, "process")})
	show := []string{"cat", "/proc/self/status"}
	short := a.NewTask("short", map[string]any{"command": show[0], "args": show[1:]})
	long := a.NewTask("long", sh("exec sleep 600"))
	for _, task := range []*drivertest.Task{short, long} {
		if _, err := a.Run(task.TaskConfig); err != nil {
			t.Fatal(err)
		}
	}
	<-short.Stdout.Ended()
	seesSigpipe(t, "a task", short.Stdout.Text())
	out, err := a.Exec(t.Context(), long.ID, show, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	seesSigpipe(t, "a command in a task", string(out.Stdout))
}

// seesSigpipe fails if the process of that /proc/<pid>/status ignores or blocks the signal.
func seesSigpipe(t *testing.T, who, status string) {
	t.Helper()
	for _, field := range []string{"SigIgn", "SigBlk"} {
		_, mask, _ := strings.Cut(status, field+":\t")
		mask, _, _ = strings.Cut(mask, "\n")
		set, err := strconv.ParseUint(mask, 16, 64)
		if err != nil {
			t.Fatalf("cannot read %s of %q: %v", field, status, err)
		}
		if set&(1<<(syscall.SIGPIPE-1)) != 0 {
			t.Errorf("%s has SIGPIPE in its %s, %s", who, field, mask)
		}
	}
}
