package driver

import (
	"strings"
	"testing"
)

func TestReadSignal_anyWriting_meansOneOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		want order
		full string
	}{
		{"SIGSTOP", orderFreeze, "SIGSTOP"},
		{"stop", orderFreeze, "SIGSTOP"},
		{"SIGTSTP", orderPark, "SIGTSTP"},
		{" sigcont ", orderWake, "SIGCONT"},
		{"SIGHUP", orderDeliver, "SIGHUP"},
		{"usr1", orderDeliver, "SIGUSR1"},
		{"SIGKILL", orderDeliver, "SIGKILL"},
	} {
		got, full, err := readSignal(c.name)
		if err != nil || got != c.want || full != c.full {
			t.Errorf("%q: got %s %q, %v", c.name, got, full, err)
		}
	}
}

func TestReadSignal_unknown_isAnErrorThatSaysWhatThereIs(t *testing.T) {
	for _, name := range []string{"", "INVALID", "doze:freeze", "9", "SIG", "SIGSIGHUP"} {
		_, _, err := readSignal(name)
		if err == nil || !strings.Contains(err.Error(), "SIGSTOP freezes a task") {
			t.Errorf("%q: got error %v", name, err)
		}
	}
}
