package relay

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Pair is a client's connection and the application's.
type Pair struct {
	// Client and App belong to Join from its call on.
	Client, App *net.TCPConn
	// Head was read from the client already, and goes to the application first.
	Head []byte
	// Woken is called for a client that sends, or ends, or is joined while the relay rests. It
	// has the application woken and waits until it is, by when somebody has called Resume: what
	// was sent goes on then. Where the relay still rests, an error ends the pair, and Woken is
	// called again after none.
	Woken func() error
	// Over is called once, when both connections are closed and Woken has returned. It must not
	// wait for anything. Nil: nobody wants to know.
	Over func()

	loop           *loop // whose lock guards the rest
	client, app    end
	waking, closed bool
	draining       bool // the client is to be reset, and has not taken everything yet
}

// Join passes bytes both ways until both sides have sent their end, or either fails. A side
// that ends only its own direction (a half-close) may go on receiving. A side that fails has the
// other one reset, after what it had sent before. After an error of Join, which
// tells of a closed relay or of a lack of descriptors, both connections are reset, and Over is
// not called. It may have been called already when Join returns nil.
func (r *Relay) Join(p *Pair) error {
	client, err := takeOver(p.Client)
	app, appErr := takeOver(p.App)
	if err == nil {
		err = appErr
	}
	if err == nil {
		p.client = end{pair: p, fd: client, peer: &p.app}
		p.app = end{pair: p, fd: app, peer: &p.client}
		p.loop = r.least()
		if err = p.loop.add(p); err == nil {
			return nil
		}
	}
	for _, fd := range []int{client, app} {
		if fd >= 0 {
			e := end{fd: fd}
			e.reset()
			e.close()
		}
	}
	return fmt.Errorf("cannot relay: %w", err)
}

// takeOver returns a descriptor of the connection that only the caller knows, and -1 after an
// error. Go's poller, which would tell its goroutines of every byte, knows it no longer.
func takeOver(conn *net.TCPConn) (int, error) {
	defer conn.Close() // a copy stays open
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil {
		err = dupErr
	}
	if err != nil {
		_ = conn.SetLinger(0) // a closed one ends as it is
	}
	return fd, err
}

// Close ends both connections, whatever is on its way. It comes after Join.
func (p *Pair) Close() { p.loop.visit(func() { p.loop.cut(p) }) }
