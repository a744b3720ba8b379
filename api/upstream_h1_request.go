package api

import (
	"net"
	"net/http"
	"strings"
)

// appendHead appends the head of a plain request as it goes to the target; see
// forwardedHeader for what changes on the way.
func appendHead(b []byte, r *http.Request) []byte {
	b = append(b, r.Method...)
	b = append(b, ' ')
	b = append(b, requestTarget(r)...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", r.Host)
	for name, values := range r.Header {
		if isHop(name) || name == "X-Forwarded-For" || name == "Content-Length" {
			continue // the length is what came, not what was said (RFC 9113, 8.1.1)
		}
		for _, value := range values {
			b = appendField(b, name, value)
		}
	}
	b = appendForwarded(b, r)
	if r.Header["Content-Length"] != nil || expectsBody(r.Method) {
		b = appendField(b, "Content-Length", "0")
	}
	return append(b, '\r', '\n')
}

// requestTarget is what goes on the request line: the path and the query, or "*" (RFC 9112,
// 3.2.1 and 3.2.4). "" stands for what cannot be written there without becoming something
// else; HTTP/2 lets spaces pass.
func requestTarget(r *http.Request) string {
	target := r.RequestURI
	if r.ProtoMajor != 1 || !strings.HasPrefix(target, "/") {
		if r.URL.Opaque != "" || r.URL.Path == "*" && r.Method != http.MethodOptions {
			return ""
		}
		target = r.URL.RequestURI()
	}
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c == 0x7f || c == '#' {
			return ""
		}
	}
	return target
}

// expectsBody reports whether servers want to be told that there is no body (RFC 9110, 8.6).
func expectsBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, '\r', '\n')
}

func appendForwarded(b []byte, r *http.Request) []byte {
	b = append(b, "X-Forwarded-For: "...)
	for _, prior := range r.Header["X-Forwarded-For"] {
		b = append(b, prior...)
		b = append(b, ", "...)
	}
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		peer = unknownPeer
	}
	b = append(b, peer...)
	b = append(b, '\r', '\n')
	if r.Header["X-Forwarded-Proto"] == nil {
		b = appendField(b, "X-Forwarded-Proto", scheme(r))
	}
	if r.Header["X-Forwarded-Host"] == nil {
		b = appendField(b, "X-Forwarded-Host", r.Host)
	}
	return b
}
