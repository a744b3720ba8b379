package relay

import (
	"bytes"
	"strings"
)

// Class is what the first bytes of a connection are.
type Class int

const (
	Incomplete Class = iota // could still become a shielded request
	Shielded                // one whole request for a shielded path, and nothing after it
	Other                   // anything else: it wakes
)

// MaxHead bounds a shielded request, in bytes.
const MaxHead = 4 << 10

// Shield is a set of paths whose requests do not wake. The zero value shields nothing.
type Shield struct {
	paths map[string]bool
}

// NewShield returns a Shield for exact paths; a request's query does not matter.
func NewShield(paths []string) Shield {
	s := Shield{paths: make(map[string]bool, len(paths))}
	for _, p := range paths {
		s.paths[p] = true
	}
	return s
}

// Any reports whether any path is shielded.
func (s Shield) Any() bool { return len(s.paths) > 0 }

// Classify looks at all that a client has sent so far. Only a GET or HEAD of HTTP/1.x (RFC
// 9112) without a body, upgrade or anything unusual is Shielded.
func (s Shield) Classify(sent []byte) Class {
	line, rest, whole := bytes.Cut(sent, []byte("\r\n"))
	if !whole {
		return s.unfinished(sent)
	}
	if !s.requestLine(string(line)) {
		return Other
	}
	for {
		field, after, whole := bytes.Cut(rest, []byte("\r\n"))
		switch {
		case !whole:
			return limited(len(sent), clean(bytes.TrimSuffix(rest, []byte("\r"))))
		case len(field) == 0 && len(after) == 0:
			return Shielded
		case len(field) == 0 || !plainField(field):
			return Other
		}
		rest = after
	}
}

// unfinished judges a request line that has not ended yet.
func (s Shield) unfinished(sent []byte) Class {
	text := string(bytes.TrimSuffix(sent, []byte("\r")))
	for _, method := range []string{"GET ", "HEAD "} {
		n := min(len(method), len(text))
		if method[:n] == text[:n] {
			return limited(len(sent), clean([]byte(text)))
		}
	}
	return Other
}

func limited(size int, ok bool) Class {
	if !ok || size >= MaxHead {
		return Other
	}
	return Incomplete
}

// requestLine reports whether a whole request line asks for a shielded path.
func (s Shield) requestLine(line string) bool {
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !clean([]byte(line)) {
		return false
	}
	if parts[0] != "GET" && parts[0] != "HEAD" {
		return false
	}
	if parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0" {
		return false
	}
	path, _, _ := strings.Cut(parts[1], "?")
	return s.paths[path]
}

// plainField reports whether a header field is well formed and harmless.
func plainField(field []byte) bool {
	name, value, ok := strings.Cut(string(field), ":")
	if !ok || !token(name) || !clean([]byte(value)) {
		return false
	}
	switch strings.ToLower(name) {
	case "content-length":
		return strings.TrimSpace(value) == "0"
	case "transfer-encoding", "trailer", "upgrade", "http2-settings", "expect":
		return false // more than a question
	}
	return true
}

// token reports whether name is one (RFC 9110, section 5.6.2).
func token(name string) bool {
	if name == "" {
		return false
	}
	for _, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return true
}

// clean reports whether text is free of control characters, tabs aside.
func clean(text []byte) bool {
	return !bytes.ContainsFunc(text, func(r rune) bool {
		return (r < ' ' && r != '\t') || r == 0x7f
	})
}

// Answer is what a shielded request is answered with while the application sleeps. It ends
// the connection.
func Answer(ok bool) []byte {
	status := "200 OK"
	if !ok {
		status = "503 Service Unavailable"
	}
	return []byte("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n" +
		"Cache-Control: no-store\r\nConnection: close\r\n\r\n")
}

// Once is a shielded request rewritten so that the connection ends with its answer.
func Once(request []byte) []byte {
	head := bytes.TrimSuffix(request, []byte("\r\n"))
	return append(append([]byte{}, head...), "Connection: close\r\n\r\n"...)
}
