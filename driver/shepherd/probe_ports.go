package shepherd

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// probePorts are the local ports of recent probes, which are no use of the task.
type probePorts struct {
	mu    sync.Mutex
	ports [64]uint16
	next  int
}

func (p *probePorts) add(port uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ports[p.next] = port
	p.next = (p.next + 1) % len(p.ports)
}

// bind gives a socket its local port, and remembers it.
func (p *probePorts) bind(fd int) error {
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	var any unix.Sockaddr = &unix.SockaddrInet4{}
	if family == unix.AF_INET6 {
		any = &unix.SockaddrInet6{}
	}
	if err := unix.Bind(fd, any); err != nil {
		return err
	}
	at, err := unix.Getsockname(fd)
	switch at := at.(type) {
	case *unix.SockaddrInet4:
		p.add(uint16(at.Port))
	case *unix.SockaddrInet6:
		p.add(uint16(at.Port))
	}
	return err
}

func (p *probePorts) all() []uint16 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ports[:])
}

func (p *probePorts) has(port uint16) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.ports[:], port)
}

// forget takes a port out and reports whether it was there.
func (p *probePorts) forget(port uint16) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.ports[:], port)
	if i >= 0 {
		p.ports[i] = 0
	}
	return i >= 0
}
