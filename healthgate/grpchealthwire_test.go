package healthgate

import (
	"testing"
)

// The decoder is reached through a whole HTTP/2 exchange only, too slow to fuzz; so its
// fuzz target, alone of all, is inside the package.
func FuzzParseHealthAnswer(f *testing.F) {
	for _, s := range []string{
		"", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x02\x08\x01", "\x01\x00\x00\x00\x02\x08\x01",
		"\x00\x00\x00\x00\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "\x00\x00\x00\x00\x03\x12\xff\x01",
		"\x00\x00\x00\x00\x09\x12\x01x\x08\x01\x1d1234",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		status, err := parseHealthAnswer(b)
		if err != nil {
			if status != 0 {
				t.Errorf("%q: %s beside error %v", b, status, err)
			}
			return
		}
		// Serving is said by a field 1 of that value, and by nothing else.
		if status == serving && !hasPair(b[frameHead:], 0x08, 0x01) && !hasPadded(b[frameHead:]) {
			t.Errorf("%q was read as serving", b)
		}
		// What is unknown may follow without changing anything.
		longer := append(append([]byte(nil), b...), 0x12, 0x00)
		n := len(longer) - frameHead
		longer[1], longer[2], longer[3], longer[4] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
		if again, err := parseHealthAnswer(longer); err != nil || again != status {
			t.Errorf("%q with an unknown field: %s, %v", b, again, err)
		}
	})
}

func hasPair(b []byte, x, y byte) bool {
	for i := range len(b) - 1 {
		if b[i] == x && b[i+1] == y {
			return true
		}
	}
	return false
}

// hasPadded reports whether b may hold a varint that is longer than it need be.
func hasPadded(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return true
		}
	}
	return false
}

func TestHealthRequest_roundTrip_keepsItsLength(t *testing.T) {
	for _, service := range []string{"", "a", "grpc.health.v1.Health"} {
		b := healthRequest(service)
		if _, err := parseHealthAnswer(b); err != nil {
			t.Errorf("%q frames to %q: %v", service, b, err)
		}
	}
}
