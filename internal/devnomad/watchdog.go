package devnomad

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// watchdogScript keeps the list of process groups that it is told on its input.
// At the input's end, which comes also when the writer is killed, it kills them,
// and removes the directory that it is given, if any.
const watchdogScript = `trap '' INT TERM HUP
groups=
while read -r op pid; do
	case $op in
	add) groups="$groups $pid" ;;
	del) kept=; for g in $groups; do [ "$g" = "$pid" ] || kept="$kept $g"; done; groups=$kept ;;
	esac
done
for g in $groups; do kill -s KILL -- "-$g" 2>/dev/null; done
[ -z "$1" ] || rm -rf -- "$1"
`

// watchdog is a small process that ends the tasks' process groups when this
// process dies without a chance to do it: a parent-death signal reaches only
// direct children. It is started with the first task.
type watchdog struct {
	dir string // temporary, to be removed with the tasks; "": none
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
}

func (w *watchdog) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cmd != nil {
		return nil
	}
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "watchdog", w.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // no key of a terminal reaches it
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("cannot start the tasks' watchdog: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the tasks' watchdog: %w", err)
	}
	w.cmd, w.in = cmd, in
	return nil
}

func (w *watchdog) add(pid int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := fmt.Fprintf(w.in, "add %d\n", pid); err != nil {
		return fmt.Errorf("cannot tell the tasks' watchdog: %w", err)
	}
	return nil
}

func (w *watchdog) remove(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.in != nil {
		// A watchdog that is gone needs no telling.
		_, _ = fmt.Fprintf(w.in, "del %d\n", pid)
	}
}

// end lets the watchdog finish its work and waits for it.
func (w *watchdog) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cmd == nil {
		return nil
	}
	if err := w.in.Close(); err != nil {
		return fmt.Errorf("cannot end the tasks' watchdog: %w", err)
	}
	w.in = nil
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("cannot end the tasks' watchdog: %w", err)
	}
	return nil
}
