package sockdiag_test

import (
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd/sockdiag"
)

func listen(t *testing.T, addr string) (net.Listener, netip.AddrPort) {
	t.Helper()
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	l, err := config.Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Skip("NEEDS THE ADDRESS: ", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, l.Addr().(*net.TCPAddr).AddrPort()
}

func dial(t *testing.T, addr netip.AddrPort) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

func count(t *testing.T, addr netip.AddrPort) int {
	t.Helper()
	conns, err := sockdiag.Connections(addr)
	if err != nil {
		t.Fatal(err)
	}
	return len(conns)
}

func TestConnections_acceptedAndWaiting_areCounted(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		t.Run(at, func(t *testing.T) {
			l, addr := listen(t, at)
			other, otherAddr := listen(t, "127.0.0.1:0")
			defer other.Close()
			dial(t, otherAddr) // somebody else's
			if n := count(t, addr); n != 0 {
				t.Fatal(n)
			}
			first := dial(t, addr)
			accepted, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer accepted.Close()
			dial(t, addr) // not accepted by anybody
			if n := count(t, addr); n != 2 {
				t.Fatal(n)
			}
			if err := first.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if n := count(t, addr); n != 2 { // half closed: it may still be answered
				t.Fatal(n)
			}
		})
	}
}

func TestEnded_connectionOfThePort_isHeardOf(t *testing.T) {
	l, addr := listen(t, "127.0.0.1:0")
	_, otherAddr := listen(t, "127.0.0.1:0")
	ended, err := sockdiag.Listen(addr.Port())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ended.Close() })
	_ = dial(t, otherAddr).Close() // somebody else's
	conn := dial(t, addr)
	port := conn.LocalAddr().(*net.TCPAddr).Port
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Close(), accepted.Close()
	remote, lost, err := ended.Next()
	if err != nil || lost || len(remote) != 1 || int(remote[0].Port()) != port {
		t.Fatal(remote, lost, err)
	}
	time.AfterFunc(time.Millisecond, func() { _ = ended.Close() })
	if _, _, err := ended.Next(); err == nil {
		t.Fatal("heard of something after the end")
	}
}

func TestListeners_everyKind_isFoundByItsInode(t *testing.T) {
	for _, multipath := range []bool{false, true} {
		var config net.ListenConfig
		config.SetMultipathTCP(multipath)
		l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		want := sockdiag.Listener{At: l.Addr().(*net.TCPAddr).AddrPort(), Inode: inodeOf(t, l)}
		all, err := sockdiag.Listeners()
		if err != nil || !slices.Contains(all, want) {
			t.Errorf("multipath %t: %v is not among %v, %v", multipath, want, all, err)
		}
	}
}

func inodeOf(t *testing.T, l net.Listener) uint32 {
	t.Helper()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return uint32(info.Sys().(*syscall.Stat_t).Ino)
}
