package shepherd_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"doze/idle"
)

// Until an application listens, its port is nobody's: the kernel gives it to no connection and
// to no listener that asks for any, and no other shepherd chooses it.
func TestClient_privatePort_isNobodyElses(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	var first, last int
	if err == nil {
		_, err = fmt.Sscan(string(text), &first, &last)
	}
	if err != nil || last > 1<<16-1-1000 { // it is left to the kernel then
		t.Skip("NEEDS PORTS ABOVE ip_local_port_range: ", last, err)
	}
	s := spec(t, "http")
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	for range 3 {
		port := status(t, c).Port
		if port <= last {
			t.Errorf("port %d is one of those up to %d that the kernel gives out", port, last)
		}
		if err := claim(t, port); !errors.Is(err, unix.EADDRINUSE) {
			t.Errorf("another shepherd may have port %d: %v", port, err)
		}
		sleepUnused(t, c, idle.Park)
		mustGet(t, c, "/")
		if now := status(t, c).Port; now != port && claim(t, port) != nil {
			t.Errorf("port %d is kept, though %d is in use", port, now)
		}
	}
}

// claim takes a port for a moment as shepherds do.
func claim(t *testing.T, port int) error {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("@doze-private-port-%d", port)})
}
