package relay

import "golang.org/x/sys/unix"

// pipeSize is how many bytes go through a pipe at once: what an unprivileged process may have
// (pipe(7), /proc/sys/fs/pipe-max-size).
const pipeSize = 1 << 20

// pipe is what splice(2) leads bytes through from one connection to another.
type pipe struct {
	read, write int // descriptors
	holds       int // bytes
}

// emptyPipe returns the loop's spare pipe, or a new one.
func (l *loop) emptyPipe() (*pipe, error) {
	if p := l.spare; p != nil {
		l.spare = nil
		return p, nil
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, err
	}
	// Where that many pages are refused it stays smaller.
	_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeSize)
	return &pipe{read: fds[0], write: fds[1]}, nil
}

// keep keeps an empty pipe for the next one who needs it.
func (l *loop) keep(p *pipe) {
	if l.spare != nil {
		l.spare.close()
	}
	l.spare = p
}

func (p *pipe) close() { _, _ = unix.Close(p.read), unix.Close(p.write) } // both are ours alone
