package shepherd

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// writeAgainAfter is how long output is dropped after a failure before a log is tried again.
const writeAgainAfter = time.Second

// logStream takes one of the application's outputs from a pipe to its log. The application
// is never kept waiting for a log that can't be written: what is lost is counted, and told
// in the log itself when it can be written again.
type logStream struct {
	name  string // stdout or stderr
	in    *os.File
	out   *os.File // what the application writes to, kept open for life
	event func(Event)
	bufs  *sync.Pool // of *logBuffer: held only while there is something in it

	mu    sync.Mutex // held while anything is read or written
	file  logFile
	lost  int   // bytes since why
	why   error // nil: the last write went well
	tried time.Time
}

type logBuffer [wholeLine]byte

// newLogStream makes the pipe, which belongs to the application's user, so that it can open
// it by name (/dev/stdout) too.
func newLogStream(name string, where LogFiles, cred *syscall.Credential) (*logStream, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("cannot make log pipe: %w", err)
	}
	err := syscall.SetNonblock(fds[0], true) // before NewFile, which looks at it
	if cred != nil {
		err = errors.Join(err, unix.Fchown(fds[1], int(cred.Uid), int(cred.Gid)))
	}
	s := &logStream{
		name: name,
		in:   os.NewFile(uintptr(fds[0]), name),
		out:  os.NewFile(uintptr(fds[1]), name),
		file: logFile{where: where, prefix: where.Name + "." + name + "."},
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make log pipe: %w", err), s.close())
	}
	return s, nil
}

func (s *logStream) close() error { return errors.Join(s.out.Close(), s.in.Close()) }

// run takes what comes, until the pipe is closed. It waits without a thread, a timer or a
// buffer.
func (s *logStream) run(log *slog.Logger) {
	conn, err := s.in.SyscallConn()
	if err == nil {
		err = conn.Read(func(fd uintptr) bool { return s.pump(int(fd)) })
	}
	if err != nil && !errors.Is(err, os.ErrClosed) {
		log.Error("this log is lost", "log", s.name, "err", err)
	}
}

// drain takes what is in the pipe, and says what could not be written.
func (s *logStream) drain() {
	conn, err := s.in.SyscallConn()
	if err != nil {
		return // it has been closed
	}
	_ = conn.Control(func(fd uintptr) { s.pump(int(fd)) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != nil {
		s.recover(time.Now())
	}
}

// pump empties the pipe and reports whether it has ended.
func (s *logStream) pump(fd int) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf := s.bufs.Get().(*logBuffer)
	defer s.bufs.Put(buf)
	for {
		n, err := syscall.Read(fd, buf[:])
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return false
		case err != nil || n == 0:
			return true
		default:
			s.take(buf[:n], time.Now())
		}
	}
}

// take writes text to the log, or counts it as lost. The caller holds mu.
func (s *logStream) take(text []byte, now time.Time) {
	if s.why != nil && (now.Sub(s.tried) < writeAgainAfter || !s.recover(now)) {
		s.lost += len(text)
		return
	}
	if n, err := s.file.Write(text); err != nil {
		s.lost += len(text) - n
		s.fail(err, now)
	}
}

// recover reports whether the log can be written again, and says in it what it lacks. The
// caller holds mu.
func (s *logStream) recover(now time.Time) bool {
	_, err := s.file.room()
	if err == nil && s.lost > 0 {
		_, err = s.file.Write(s.confession())
	}
	if err != nil {
		s.fail(err, now)
		return false
	}
	s.event(Event{Kind: EventLog, Message: "the log " + s.name + " can be written again",
		Details: map[string]string{"bytes_lost": strconv.Itoa(s.lost)}})
	s.lost, s.why = 0, nil
	return true
}

// begin has the log's file there before there is a word in it: Nomad looks for it.
func (s *logStream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.file.room(); err != nil {
		s.fail(err, time.Now())
	}
}

// confession says in the log itself, on a line of its own, what it lacks.
func (s *logStream) confession() []byte {
	line := fmt.Sprintf("[doze: %d bytes of this log are lost: %v]\n", s.lost, s.why)
	if s.file.midLine {
		line = "\n" + line
	}
	return []byte(line)
}

func (s *logStream) fail(err error, now time.Time) {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err // where it lies is the machine's affair
	}
	if s.why == nil {
		s.event(Event{Kind: EventLog,
			Message: fmt.Sprintf("cannot write the log %s: %v", s.name, err)})
	}
	s.why, s.tried = err, now
}
