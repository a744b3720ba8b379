package sockdiag_test

import (
	"net"
	"net/netip"
	"testing"

	"doze/driver/shepherd/sockdiag"
)

func accepted(t *testing.T, server netip.AddrPort, conn net.Conn) bool {
	t.Helper()
	taken, err := sockdiag.Accepted(server, conn.LocalAddr().(*net.TCPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

func TestAccepted_onlyWhatAProcessHasTaken(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(at, func(t *testing.T) {
			l, addr := listen(t, at)
			conn, waiting := dial(t, addr), dial(t, addr)
			if accepted(t, addr, conn) {
				t.Error("it is taken for accepted in the kernel's queue")
			}
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if !accepted(t, addr, conn) {
				t.Error("it is accepted and not taken for it")
			}
			if accepted(t, addr, waiting) {
				t.Error("another one's acceptance counts")
			}
			if err := server.Close(); err != nil {
				t.Fatal(err)
			}
			if !accepted(t, addr, conn) {
				t.Error("what its server has ended is not taken for accepted")
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			if !accepted(t, addr, conn) {
				t.Error("what has ended on both sides is not taken for accepted")
			}
		})
	}
}

// The end of the client's side alone says nothing of the server.
func TestAccepted_clientHasLeft_isStillWaiting(t *testing.T) {
	_, addr := listen(t, "127.0.0.1:0")
	conn := dial(t, addr)
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if accepted(t, addr, conn) {
		t.Error("it is taken for accepted")
	}
}
