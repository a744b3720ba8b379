package relay_test

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"doze/driver/shepherd/relay"
)

func TestShield_classify_isStrict(t *testing.T) {
	s := relay.NewShield([]string{"/healthz", "/"})
	for sent, want := range map[string]relay.Class{
		"":                              relay.Incomplete,
		"G":                             relay.Incomplete,
		"HEA":                           relay.Incomplete,
		"GET /healthz":                  relay.Incomplete,
		"GET /healthz HTTP/1.1\r":       relay.Incomplete,
		"GET /healthz HTTP/1.1\r\n":     relay.Incomplete,
		"GET / HTTP/1.1\r\nHost: x\r\n": relay.Incomplete,
		"GET /healthz HTTP/1.1\r\n\r\n": relay.Shielded,
		"HEAD /healthz HTTP/1.0\r\nHost: x\r\nAccept: */*\r\n\r\n":    relay.Shielded,
		"GET /healthz?a=b HTTP/1.1\r\nContent-Length: 0\r\n\r\n":      relay.Shielded,
		"GET /other HTTP/1.1\r\n":                                     relay.Other,
		"GET /healthz/ HTTP/1.1\r\n\r\n":                              relay.Other,
		"GET  /healthz HTTP/1.1\r\n\r\n":                              relay.Other,
		"GET /healthz HTTP/2.0\r\n\r\n":                               relay.Other,
		"get /healthz HTTP/1.1\r\n\r\n":                               relay.Other,
		"GET /healthz HTTP/1.1\n\n":                                   relay.Other,
		"POST /healthz HTTP/1.1\r\n\r\n":                              relay.Other,
		"GET /healthz HTTP/1.1\r\nContent-Length: 5\r\n\r\n":          relay.Other,
		"GET /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n": relay.Other,
		"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n":                relay.Other,
		"GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n":              relay.Other,
		"GET / HTTP/1.1\r\nA b: c\r\n\r\n":                            relay.Other,
		"GET / HTTP/1.1\r\n folded\r\n\r\n":                           relay.Other,
		"GET / HTTP/1.1\r\nA: b\x00\r\n\r\n":                          relay.Other,
		"GET / HTTP/1.1\r\n\r\nGET":                                   relay.Other,
		"GET http://x/healthz HTTP/1.1\r\n\r\n":                       relay.Other,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                            relay.Other,
		"\x16\x03\x01":                                                relay.Other,
		"GET /" + strings.Repeat("x", relay.MaxHead):                  relay.Other,
	} {
		if got := s.Classify([]byte(sent)); got != want {
			t.Errorf("%.60q is %d, want %d", sent, got, want)
		}
	}
	if got := (relay.Shield{}).Classify([]byte("GET / HTTP/1.1\r\n\r\n")); got != relay.Other {
		t.Errorf("a shield of nothing says %d", got)
	}
}

// Whatever the shepherd answers itself is one whole request for a shielded path also to
// net/http, and every beginning of one is incomplete.
func FuzzShield_Classify(f *testing.F) {
	for _, seed := range []string{
		"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "HEAD /healthz?a HTTP/1.0\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nContent-Length: 00\r\n\r\n", "GET / HTTP/1.1\r\n:\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	s := relay.NewShield([]string{"/healthz"})
	f.Fuzz(func(t *testing.T, sent []byte) {
		if s.Classify(sent) != relay.Shielded {
			return
		}
		for i := range sent {
			if s.Classify(sent[:i]) != relay.Incomplete {
				t.Fatalf("%q is shielded, its beginning %q is not incomplete", sent, sent[:i])
			}
		}
		for _, request := range [][]byte{sent, relay.Once(sent)} {
			r := bufio.NewReader(bytes.NewReader(request))
			parsed, err := http.ReadRequest(r)
			if err != nil {
				continue // an application would refuse it: nothing is lost
			}
			if parsed.URL.Path != "/healthz" || parsed.ContentLength > 0 || r.Buffered() > 0 {
				t.Fatalf("%q: path %q, length %d", request, parsed.URL.Path, parsed.ContentLength)
			}
		}
	})
}
