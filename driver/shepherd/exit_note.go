package shepherd

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// noteOf is what an exit means that does not say so itself; "" for the others.
func (t *task) noteOf(e Exit) string {
	switch {
	case e.Signal == int(syscall.SIGPIPE) && t.unread():
		return "nobody reads its log any more; Nomad stops to when the allocation's disk is full"
	case t.spec.Activation == Socket && (e.Code == notExecutable || e.Code == notFound):
		return fmt.Sprintf("%s, which hands it the socket, could not start it; its log says why", sh)
	}
	return ""
}

// What a shell ends with that could not start a program (POSIX, exec).
const (
	notExecutable = 126
	notFound      = 127
)

// unread reports whether a log pipe has lost its reader.
func (t *task) unread() bool {
	return t.files == nil && slices.ContainsFunc(t.logs[:], func(log *os.File) bool {
		fds := []unix.PollFd{{Fd: int32(log.Fd())}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n > 0 && fds[0].Revents&unix.POLLERR != 0
	})
}

// knows reports whether a process was started here: the application, or a command.
func (s *spawner) knows(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.children[pid] != nil
}

// tellLeftBehind tells of the processes that an application leaves behind that has ended
// well by itself: one that goes to the background is ended with its parent, and nothing else
// says so.
func (t *task) tellLeftBehind(e Exit) {
	if e.Code != 0 || e.Signal != 0 || t.stopping.Load() {
		return
	}
	var names []string
	for _, pid := range t.cgroups.Processes() {
		name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		if err == nil && !t.spawner.knows(pid) {
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	if len(names) == 0 {
		return
	}
	const most = 5
	told := strings.Join(names[:min(len(names), most)], ", ")
	t.journal.add(time.Now(), Event{Kind: EventLeft, Message: fmt.Sprintf("it has ended and left %d "+
		"of its processes behind (%s): they are ended too; what shall go on has to stay in the "+
		"foreground", len(names), told)})
}
