package relay

import (
	"io"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// chunkSize is up to how many bytes it costs less to copy what has arrived than to lead it
// through a pipe.
const chunkSize = 16 << 10

// chunks are in use only between a read and the write that follows.
var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// flow is one direction of a Pair. What has arrived goes on at once: a little by way of this
// process's memory, more of it by splice(2). Nothing is held while nothing arrives, neither a
// buffer nor a pipe, and no garbage is made of what passes.
type flow struct {
	from, to *net.TCPConn
	raw      syscall.RawConn // from's

	chunk   *[chunkSize]byte
	n       int // bytes in it
	readErr error
	waiting int // bytes that had arrived besides
	read    func(fd uintptr) bool
	look    func(fd uintptr)
	rest    io.LimitedReader // of from: what is spliced
}

func newFlow(from, to *net.TCPConn) (*flow, error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return nil, err
	}
	f := &flow{from: from, to: to, raw: raw, rest: io.LimitedReader{R: from}}
	f.read, f.look = f.readChunk, f.lookFor // here, since each mention allocates
	return f, nil
}

// pass passes everything on until the end (nil), an error, or the deadline of from, after
// which it may be called again: nothing gets lost.
func (f *flow) pass() error {
	for {
		if err := f.raw.Read(f.read); err != nil {
			return err
		}
		n, err := f.n, f.readErr
		if err == nil && n > 0 {
			_, err = f.to.Write(f.chunk[:n])
		}
		chunks.Put(f.chunk)
		if err == nil && n == chunkSize {
			err = f.splice()
		}
		if err != nil || n == 0 {
			return err
		}
	}
}

// readChunk reads what has arrived; false: nothing has.
func (f *flow) readChunk(fd uintptr) bool {
	f.chunk = chunks.Get().(*[chunkSize]byte)
	for {
		f.n, f.readErr = unix.Read(int(fd), f.chunk[:])
		if f.readErr != unix.EINTR {
			break
		}
	}
	if f.readErr == unix.EAGAIN {
		chunks.Put(f.chunk)
		return false
	}
	return true
}

// splice passes on what has arrived by now, and so never waits for more.
func (f *flow) splice() error {
	f.waiting = 0
	if err := f.raw.Control(f.look); err != nil {
		return err
	}
	f.rest.N = int64(f.waiting)
	_, err := f.to.ReadFrom(&f.rest)
	return err
}

func (f *flow) lookFor(fd uintptr) {
	// An error leaves 0: then it is copied.
	f.waiting, _ = unix.IoctlGetInt(int(fd), unix.SIOCINQ)
}
