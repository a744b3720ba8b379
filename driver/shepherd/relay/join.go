// Package relay passes bytes between two TCP connections, many of them inside the kernel, and
// recognises the requests that may be answered for an application that sleeps.
//
// It never looks into a stream that it passes on, and never decides whether to wake.
package relay

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Pair is a client's connection and the application's. Both are closed by Join.
type Pair struct {
	Client, App *net.TCPConn
	// Head was read from the client already, and goes to the application first.
	Head []byte
	// Woken is called when the client sends again after an Interrupt.
	Woken func()

	over atomic.Bool // the application has ended its direction
}

// Join passes bytes both ways until both sides have sent their end, or either fails. A side
// that ends only its own direction (a half-close) may go on receiving.
func (p *Pair) Join() {
	defer p.Client.Close()
	defer p.App.Close()
	var answering sync.WaitGroup
	answering.Go(func() {
		err := p.down()
		p.over.Store(true)
		p.end(p.Client, err)
	})
	p.end(p.App, p.up())
	answering.Wait()
}

// up passes on what the client sends.
func (p *Pair) up() error {
	if len(p.Head) > 0 {
		if _, err := p.App.Write(p.Head); err != nil {
			return err
		}
		p.Head = nil
	}
	f, err := newFlow(p.Client, p.App)
	if err != nil {
		return err
	}
	for {
		err := f.pass()
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if err := p.rest(); err != nil {
			return err
		}
	}
}

// down passes on what the application sends.
func (p *Pair) down() error {
	f, err := newFlow(p.App, p.Client)
	if err != nil {
		return err
	}
	return f.pass()
}

// end passes the end of one direction on: its peer's half-close, or, after an error, the
// end of both connections.
func (p *Pair) end(to *net.TCPConn, err error) {
	if err == nil {
		err = to.CloseWrite()
	}
	if err != nil {
		_ = p.Client.Close() // both directions are over; Join closes again
		_ = p.App.Close()
	}
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// Interrupt makes Join look out for the client's next byte and call Woken when it comes,
// because the application sleeps. Nothing that was sent gets lost.
func (p *Pair) Interrupt() error { return p.Client.SetReadDeadline(longAgo) }

// rest waits, without reading, until the client sends or ends.
func (p *Pair) rest() error {
	if err := p.Client.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	raw, err := p.Client.SyscallConn()
	if err != nil {
		return err
	}
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return err != syscall.EAGAIN && err != syscall.EINTR
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil // interrupted once more: Join comes back here
	}
	switch {
	case err != nil:
		return err
	case p.over.Load(): // it was parked: nobody is there to be woken for this connection
		return net.ErrClosed
	}
	p.Woken()
	return nil
}
