package shepherd

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// toldSignals are the signals that an application was sent through the shepherd since it was
// last asked whether it has taken them, a bit each.
type toldSignals struct{ bits atomic.Uint64 }

// tell sends the application a signal.
func (a *application) tell(sig syscall.Signal) error {
	a.told.bits.Or(1 << (sig - 1)) // before it is sent: a freeze after it looks for it
	return a.signal(sig)
}

// untaken reports, once for each signal, whether the application stands still with one that
// it was told and has not taken yet. It may have blocked one for good.
func (a *application) untaken() bool {
	told := a.told.bits.Swap(0)
	return told != 0 && told&pendingSignals(a.pid) != 0
}

// pendingSignals are those that wait for a process as a whole; none where the kernel does not
// tell.
//
// Source: proc_pid_status(5), ShdPnd.
func pendingSignals(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // it has ended
	}
	_, rest, _ := strings.Cut(string(text), "\nShdPnd:")
	line, _, _ := strings.Cut(rest, "\n")
	bits, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	if err != nil {
		return 0
	}
	return bits
}
