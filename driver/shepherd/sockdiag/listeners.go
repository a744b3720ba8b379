package sockdiag

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Listener is a socket that listens.
type Listener struct {
	At    netip.AddrPort
	Inode uint32 // as /proc/<pid>/fd names it
}

// listening is the state, as in the kernel's net/tcp_states.h.
const listening = 10

// Listeners returns every socket that listens for TCP, or for what may become it: Go's own
// programs listen for multipath TCP, where there is that.
func Listeners() ([]Listener, error) {
	var all []Listener
	see := func(m []byte) {
		at, _ := endpoints(m)
		all = append(all, Listener{At: at, Inode: inode(m)})
	}
	if err := dump(query{states: 1 << listening}, see); err != nil {
		return nil, fmt.Errorf("cannot ask for listeners: %w", err)
	}
	// A kernel that does not know it (before 5.19) has nothing to tell.
	_ = dump(query{states: 1 << listening, protocol: unix.IPPROTO_MPTCP}, see)
	return all, nil
}

func inode(m []byte) uint32 { return binary.NativeEndian.Uint32(m[68:]) }
