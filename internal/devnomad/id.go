package devnomad

import (
	"crypto/rand"
	"fmt"
)

// newID returns a random UUID in the form that Nomad uses.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
