package healthgate

import (
	"errors"
	"syscall"
)

// IsShortage reports whether the error of a dial tells of a lack in this process, or on this
// machine: of descriptors, local ports or memory. It says nothing of the target.
func IsShortage(err error) bool {
	for _, own := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM,
	} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}
