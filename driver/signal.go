package driver

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// order is what a signal asks of a task.
type order int

const (
	orderDeliver order = iota // to the process, thawed first
	orderFreeze
	orderPark
	orderWake
)

// String is the order as a verb.
func (o order) String() string {
	return [...]string{"signal", "freeze", "park", "wake"}[o]
}

// readSignal returns what a signal's name asks for, and the name as the kernel's headers
// have it. It may be written without SIG and in small letters. Nomad passes on whatever a
// person has typed.
func readSignal(name string) (order, string, error) {
	full := strings.ToUpper(strings.TrimSpace(name))
	if !strings.HasPrefix(full, "SIG") {
		full = "SIG" + full
	}
	switch full {
	case "SIGSTOP":
		return orderFreeze, full, nil
	case "SIGTSTP":
		return orderPark, full, nil
	case "SIGCONT":
		return orderWake, full, nil
	}
	if unix.SignalNum(full) == 0 {
		return 0, "", fmt.Errorf("cannot send signal %q: there is none of that name; "+
			"SIGSTOP freezes a task, SIGTSTP parks it, SIGCONT wakes it, and others like %s "+
			"go to its process", name, strings.Join(commonSignals(), ", "))
	}
	return orderDeliver, full, nil
}

func commonSignals() []string {
	return []string{"SIGHUP", "SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2"}
}
