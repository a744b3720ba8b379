package api

import (
	"bytes"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

const maxSimpleFields = 32

// simpleHead is the head of an answer of the most common kind: HTTP/1.1, final, whole in
// the read buffer, its length known, nothing about it that needs care. Any other answer is
// left to net/http.
type simpleHead struct {
	size   int // bytes of the head
	status int
	length int64 // of the body that follows
	keep   bool  // the connection may be kept
	fields [maxSimpleFields]field
	count  int
}

type field struct{ name, value string }

// readSimple looks at the answer in the buffer, without consuming it, and reports whether
// it is a simple one. noBody: the request was HEAD.
func (c *h1Conn) readSimple(head *simpleHead, noBody bool) bool {
	raw := c.peekHead()
	if raw == nil {
		return false
	}
	head.size, head.length, head.keep = len(raw), -1, true
	text := string(raw[:len(raw)-len("\r\n")])
	line, text, _ := strings.Cut(text, "\r\n")
	if head.status = simpleStatus(line); head.status == 0 {
		return false
	}
	for text != "" {
		line, text, _ = strings.Cut(text, "\r\n")
		if !head.add(line) {
			return false
		}
	}
	if head.status == http.StatusNoContent && head.length >= 0 {
		return false // it must not have a length (RFC 9110, 8.6), which is to be removed
	}
	if noBody || head.status == http.StatusNoContent || head.status == http.StatusNotModified {
		head.length = 0
	}
	return head.length >= 0
}

// peekHead returns the head with its empty line, or nil where it does not fit.
func (c *h1Conn) peekHead() []byte {
	for {
		b, err := c.in.Peek(c.in.Buffered())
		if end := bytes.Index(b, []byte("\r\n\r\n")); end >= 0 {
			return b[:end+len("\r\n\r\n")]
		}
		if err != nil || len(b) == h1ReadSize {
			return nil
		}
		if _, err := c.in.Peek(len(b) + 1); err != nil {
			return nil
		}
	}
}

// simpleStatus returns the status of "HTTP/1.1 200 OK", or 0.
func simpleStatus(line string) int {
	rest, ok := strings.CutPrefix(line, "HTTP/1.1 ")
	if !ok || !isFieldValue(line) || len(rest) < 3 || len(rest) > 3 && rest[3] != ' ' {
		return 0
	}
	status, err := strconv.Atoi(rest[:3])
	if err != nil || status < 200 || status > 599 {
		return 0
	}
	return status
}

// add takes one field line in and reports whether the head is still simple.
func (h *simpleHead) add(line string) bool {
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) || !isFieldValue(value) {
		return false
	}
	name, value = textproto.CanonicalMIMEHeaderKey(name), textproto.TrimString(value)
	switch name {
	case "Content-Length":
		if h.length >= 0 {
			return false
		}
		length, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return false
		}
		h.length = int64(length)
	case "Connection":
		h.keep = h.keep && !strings.EqualFold(value, "close")
		return plainConnection(value)
	case "Transfer-Encoding", "Trailer":
		return false
	}
	if isHop(name) {
		return true
	}
	if h.count == maxSimpleFields {
		return false
	}
	h.fields[h.count] = field{name, value}
	h.count++
	return true
}

// isToken reports whether s is a field name (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// copyTo adds the fields to h.
func (h *simpleHead) copyTo(dst http.Header) {
	values := make([]string, h.count)
	for i, f := range h.fields[:h.count] {
		values[i] = f.value
		if prior := dst[f.name]; prior != nil {
			dst[f.name] = append(prior, f.value)
			continue
		}
		dst[f.name] = values[i : i+1 : i+1]
	}
}
