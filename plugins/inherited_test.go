package plugins_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"doze/plugins/drivertest"
)

// What an agent was started with by accident, say the pipe of a script, it hands down to its
// plugins. It ends there.
func TestStart_descriptorsOfTheAgent_areNotTheTasks(t *testing.T) {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil { // without O_CLOEXEC
		t.Fatal(err)
	}
	defer syscall.Close(fds[0])
	defer syscall.Close(fds[1])
	stray, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fds[1]))
	if err != nil {
		t.Skip("NEEDS /proc: ", err)
	}
	a := drivertest.Boot(t, drivertest.Config{Command: plugin(t, "process")})
	task := a.NewTask("list", sh("ls -l /proc/self/fd/"))
	if _, err := a.Run(task.TaskConfig); err != nil {
		t.Fatal(err)
	}
	<-task.Stdout.Ended()
	if text := task.Stdout.Text(); !strings.Contains(text, "/dev/null") || strings.Contains(text, stray) {
		t.Errorf("the task has %s open:\n%s", stray, text)
	}
}
