package api

import (
	"bytes"
	"net/textproto"
	"strconv"
	"strings"
)

// plainRequest is a request that the front may serve itself: one that has come whole. Its
// strings are one copy of its head.
type plainRequest struct {
	size               int    // bytes of the head and the body
	body               []byte // a part of what was parsed
	length             int    // as the client has said; -1: it has not
	method, uri, path  string
	host, agent        string
	forwardedProto     bool    // has X-Forwarded-Proto
	forwardedHost      bool    // has X-Forwarded-Host
	fields             []field // what goes to the target as it is
	forwardedFor       []string
	repeatable, isHEAD bool
}

// parse reads the request in b and reports whether it is all there, with its body, and a
// plain one. Whatever is in the least unusual is not plain: net/http judges it.
func (q *plainRequest) parse(b []byte) bool {
	*q = plainRequest{length: -1, fields: q.fields[:0], forwardedFor: q.forwardedFor[:0]}
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return false
	}
	rest := b[end+len("\r\n\r\n"):]
	text := string(b[:end+len("\r\n")])
	line, text, _ := strings.Cut(text, "\r\n")
	if !q.parseLine(line) {
		return false
	}
	for text != "" {
		line, text, _ = strings.Cut(text, "\r\n")
		if !q.add(line) {
			return false
		}
	}
	if q.host == "" || q.length > len(rest) {
		return false
	}
	if q.length > 0 && q.repeatable {
		return false // see upstream.outgoing
	}
	q.body = rest[:max(0, q.length)]
	q.size = len(b) - len(rest) + len(q.body)
	return true
}

// parseLine reads "GET /path?query HTTP/1.1".
func (q *plainRequest) parseLine(line string) bool {
	var version string
	var ok bool
	if q.method, line, ok = strings.Cut(line, " "); !ok {
		return false
	}
	if q.uri, version, ok = strings.Cut(line, " "); !ok || version != "HTTP/1.1" {
		return false
	}
	switch q.method {
	case "GET", "HEAD", "OPTIONS":
		q.repeatable, q.isHEAD = true, q.method == "HEAD"
	case "POST", "PUT", "PATCH", "DELETE":
	default:
		return false
	}
	q.path, _, _ = strings.Cut(q.uri, "?")
	// An escaped path would have to be decoded to be routed.
	return isVisible(q.uri) && strings.HasPrefix(q.path, "/") && !strings.Contains(q.path, "%")
}

// isVisible reports whether s is of visible ASCII alone, and no fragment is in it.
func isVisible(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return false
		}
	}
	return true
}

// add takes one field line in.
func (q *plainRequest) add(line string) bool {
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) || !isFieldValue(value) {
		return false
	}
	value = strings.Trim(value, " \t")
	switch textproto.CanonicalMIMEHeaderKey(name) {
	case "Host":
		ok = q.host == "" && value != ""
		q.host = value
		return ok
	case "Connection":
		return strings.EqualFold(value, "keep-alive")
	case "Keep-Alive":
		return true // for this connection only
	case "X-Forwarded-For":
		q.forwardedFor = append(q.forwardedFor, value)
		return true
	case "Content-Length":
		length, err := strconv.ParseUint(value, 10, 31)
		if err != nil || q.length >= 0 || len(value) > 1 && value[0] == '0' {
			return false
		}
		q.length = int(length)
	case "Te", "Expect", "Upgrade", "Trailer", "Transfer-Encoding", "Proxy-Connection",
		"Proxy-Authenticate", "Proxy-Authorization", "Idempotency-Key":
		return false
	case "User-Agent":
		q.agent = value
	case "X-Forwarded-Proto":
		q.forwardedProto = true
	case "X-Forwarded-Host":
		q.forwardedHost = true
	}
	q.fields = append(q.fields, field{name, value})
	return true
}

// isFieldValue reports whether s may be sent on (RFC 9110, 5.5).
func isFieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// appendTo appends the request as it goes to the target; see forwardedHeader.
func (q *plainRequest) appendTo(b []byte, peer string) []byte {
	b = append(b, q.method...)
	b = append(b, ' ')
	b = append(b, q.uri...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", q.host)
	for _, f := range q.fields {
		b = appendField(b, f.name, f.value)
	}
	b = append(b, "X-Forwarded-For: "...)
	for _, prior := range q.forwardedFor {
		b = append(b, prior...)
		b = append(b, ", "...)
	}
	b = append(b, peer...)
	b = append(b, '\r', '\n')
	if !q.forwardedProto {
		b = appendField(b, "X-Forwarded-Proto", "http")
	}
	if !q.forwardedHost {
		b = appendField(b, "X-Forwarded-Host", q.host)
	}
	if q.length < 0 && expectsBody(q.method) {
		b = appendField(b, "Content-Length", "0")
	}
	b = append(b, '\r', '\n')
	return append(b, q.body...)
}
