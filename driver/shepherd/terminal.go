package shepherd

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// newStdio makes a command's descriptors: a terminal, or three pipes.
func newStdio(tty bool) (*stdio, error) {
	if tty {
		return newTerminal()
	}
	var ours, theirs [3]*os.File
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(ours[:i:i], theirs[:i]...))
			return nil, err
		}
		ours[i], theirs[i] = r, w
		if i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	return &stdio{in: ours[0], out: ours[1], err: ours[2], theirs: theirs[:]}, nil
}

// newTerminal opens a pseudo-terminal; see pty(7).
func newTerminal() (*stdio, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	slave, err := openSlave(master)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open terminal: %w", err), master.Close())
	}
	theirs := []*os.File{slave, slave, slave}
	return &stdio{in: master, out: master, terminal: master, theirs: theirs}, nil
}

func openSlave(master *os.File) (*os.File, error) {
	var number int
	err := control(master, func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
		number = int(n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
}

func resize(terminal *os.File, s Size) error {
	size := unix.Winsize{Row: uint16(s.Height), Col: uint16(s.Width)}
	return control(terminal, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size)
	})
}

// control calls f with a file's descriptor and leaves it in Go's poller.
func control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = raw.Control(func(fd uintptr) { callErr = f(int(fd)) })
	return errors.Join(err, callErr)
}

// endOfInput is what a terminal's line discipline takes for the end of input (^D).
const endOfInput = "\x04"

func (d *stdio) endInput() {
	if d.terminal != nil {
		_, _ = d.in.Write([]byte(endOfInput)) // a command that does not read is no error
		return
	}
	_ = d.in.Close() // close closes it again
}

// lateOutput is how long after a command's end its output is waited for.
const lateOutput = 200 * time.Millisecond

// cut ends the reading of what a command wrote, and the writing of what it has not read.
func (d *stdio) cut() {
	for _, f := range []*os.File{d.out, d.err} {
		if f != nil {
			_ = f.SetReadDeadline(time.Now().Add(lateOutput)) // at worst it is closed
		}
	}
	_ = d.in.SetWriteDeadline(time.Now()) // nobody is left to read it
}

func (d *stdio) close() {
	_ = d.in.Close() // twice at worst, and so are the others
	_ = d.out.Close()
	if d.err != nil {
		_ = d.err.Close()
	}
}
