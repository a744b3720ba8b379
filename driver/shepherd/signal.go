package shepherd

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// parseSignal reads "SIGHUP", "hup" or "1"; "" is the default.
func parseSignal(name string, otherwise syscall.Signal) (syscall.Signal, error) {
	if name == "" {
		return otherwise, nil
	}
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n <= 64 {
		return syscall.Signal(n), nil
	}
	upper := strings.ToUpper(name)
	if !strings.HasPrefix(upper, "SIG") {
		upper = "SIG" + upper
	}
	if sig := unix.SignalNum(upper); sig != 0 {
		return sig, nil
	}
	return 0, fmt.Errorf("unknown signal %q", name)
}

// signal sends a signal to the process itself. It has not been reaped while ended is open,
// but for an instant.
func (p *process) signal(sig syscall.Signal) error {
	select {
	case <-p.ended:
		return ErrExited
	default:
	}
	if err := syscall.Kill(p.pid, sig); err != nil {
		return fmt.Errorf("cannot send %s: %w", unix.SignalName(sig), err)
	}
	return nil
}
