package shepherd

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// privatePort is a port that is an application's to listen on. From its choice until the
// application listens, which may take seconds, nobody else gets it by chance: it lies above
// those that the kernel gives out by itself, to whoever connects or listens (ip(7),
// ip_local_port_range), and shepherds claim theirs among themselves.
type privatePort struct {
	number int
	claim  *os.File // held as long as the port is; nil: there is none
}

const (
	maxPort = 1<<16 - 1
	// enoughPorts is how many there have to be above the kernel's own.
	enoughPorts = 1000
	// portTries is how many are tried before it is left to the kernel.
	portTries = 100
)

// newPrivatePort finds a port that is free on all addresses.
func newPrivatePort() (privatePort, error) {
	if last := lastGivenOut(); maxPort-last >= enoughPorts {
		for range portTries {
			p := privatePort{number: last + 1 + rand.IntN(maxPort-last)}
			if p.claimed() {
				if _, err := bindable(p.number); err == nil {
					return p, nil
				}
				p.release()
			}
		}
	}
	number, err := bindable(0)
	if err != nil {
		return privatePort{}, fmt.Errorf("cannot find a private port: %w", err)
	}
	return privatePort{number: number}, nil
}

// lastGivenOut is the highest port that the kernel gives out; where it does not tell, all may
// be.
func lastGivenOut() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	var first, last int
	if err == nil {
		_, err = fmt.Sscan(string(text), &first, &last)
	}
	if err != nil {
		return maxPort
	}
	return last
}

// claimed takes the port's name among the shepherds of this network namespace: an abstract
// one (unix(7)), which goes with its descriptor.
func (p *privatePort) claimed() bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	name := "@doze-private-port-" + strconv.Itoa(p.number)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		_ = unix.Close(fd) // ours alone
		return false
	}
	p.claim = os.NewFile(uintptr(fd), name)
	return true
}

// release gives the claim up, where there is one.
func (p *privatePort) release() {
	_ = p.claim.Close() // fails for nil alone
	*p = privatePort{}
}

// bindable returns the port, or a free one for 0, after it has been bound on all addresses.
func bindable(port int) (int, error) {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
