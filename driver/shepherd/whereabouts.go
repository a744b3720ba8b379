package shepherd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doze/driver/shepherd/sockdiag"
)

// whereabouts says where the task listens instead of at its private port, for an operator
// whose application has not been told; "" where that is not known.
func (t *task) whereabouts() string {
	app, _, _ := t.look()
	if app == nil || app.port == 0 || t.spec.Activation == Socket {
		return ""
	}
	listeners, err := sockdiag.Listeners()
	if err != nil {
		return ""
	}
	own := socketsOf(t.cgroups.Processes())
	var at []string
	for _, l := range listeners {
		if addr := l.At.String(); own[l.Inode] && !slices.Contains(at, addr) {
			at = append(at, addr)
		}
	}
	if len(at) == 0 {
		return fmt.Sprintf("the task listens nowhere; it is to listen at $DOZE_PORT, %d", app.port)
	}
	return fmt.Sprintf("the task listens at %s; it is to listen at $DOZE_PORT, %d",
		strings.Join(at, " and "), app.port)
}

// socketsOf are the inodes of the sockets that processes have open, as proc(5) names them.
func socketsOf(pids []int) map[uint32]bool {
	all := map[uint32]bool{}
	for _, pid := range pids {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			continue
		}
		for _, fd := range fds {
			var inode uint32
			link, err := os.Readlink(fd)
			if err != nil { // closed meanwhile
				continue
			}
			if _, err := fmt.Sscanf(link, "socket:[%d]", &inode); err == nil {
				all[inode] = true
			}
		}
	}
	return all
}
