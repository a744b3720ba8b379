package api

import (
	"net"
	"net/http"
	"net/textproto"
	"strings"
)

// isHop reports whether a header is for one connection only (RFC 9110, 7.6.1, and what is
// in use besides). name is in canonical form.
func isHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// hasExtraHops reports whether a request's head needs more than leaving out what isHop
// names: an upgrade, an expectation, or headers that its Connection header names.
func hasExtraHops(h http.Header) bool {
	if h["Upgrade"] != nil || h["Expect"] != nil || h["Te"] != nil {
		return true
	}
	for _, line := range h["Connection"] {
		if !plainConnection(line) {
			return true
		}
	}
	return false
}

// plainConnection reports whether a Connection header only says whether to keep it.
func plainConnection(line string) bool {
	return strings.EqualFold(line, "keep-alive") || strings.EqualFold(line, "close")
}

// forwardedHeader is the header of the request that goes to the target: without what was
// for the client's connection, and with X-Forwarded-For, to which the peer's address is
// appended, -Proto and -Host, which are kept if a proxy in front has set them. What the
// client itself wrote into them is as trustworthy as the client: only the last address
// of X-Forwarded-For is the gate's word.
func forwardedHeader(r *http.Request) http.Header {
	h := make(http.Header, len(r.Header)+4)
	for name, values := range r.Header {
		if !isHop(name) {
			h[name] = values
		}
	}
	removeNamed(h, r.Header["Connection"])
	if hasToken(r.Header["Te"], "trailers") {
		h["Te"] = []string{"trailers"}
	}
	if protocol := upgradeWanted(r); protocol != "" {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{protocol}
	}
	h["X-Forwarded-For"] = []string{forwardedFor(r)}
	if h["X-Forwarded-Proto"] == nil {
		h["X-Forwarded-Proto"] = []string{scheme(r)}
	}
	if h["X-Forwarded-Host"] == nil {
		h["X-Forwarded-Host"] = []string{r.Host}
	}
	if h["User-Agent"] == nil {
		h["User-Agent"] = []string{""} // keeps a transport from adding its own
	}
	return h
}

// unknownPeer is what RFC 7239, 6.2 calls a peer without an address.
const unknownPeer = "unknown"

// forwardedFor is the list of addresses that the request came by, the peer's last.
func forwardedFor(r *http.Request) string {
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		peer = unknownPeer
	}
	if prior := r.Header["X-Forwarded-For"]; len(prior) > 0 {
		return strings.Join(prior, ", ") + ", " + peer
	}
	return peer
}

func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// upgradeType is the protocol that a head wants to change to, "" if none.
func upgradeType(h http.Header) string {
	if !hasToken(h["Connection"], "upgrade") {
		return ""
	}
	return h.Get("Upgrade")
}

// upgradeWanted is the protocol that a request may ask its target to change to, "" if none.
// Another HTTP is not offered: through such a connection (h2c, which RFC 9113, 3.1 has done
// away with) requests would reach the target that the gate never sees, nor TLS. HTTP/1.0
// has no upgrades (RFC 9110, 7.8).
func upgradeWanted(r *http.Request) string {
	if !r.ProtoAtLeast(1, 1) {
		return ""
	}
	for _, line := range r.Header["Upgrade"] {
		for part := range strings.SplitSeq(strings.ToLower(line), ",") {
			name, _, _ := strings.Cut(textproto.TrimString(part), "/")
			if name == "h2c" || name == "h2" || name == "http" || name == "tls" {
				return ""
			}
		}
	}
	return upgradeType(r.Header)
}

// hasToken looks for a word in comma-separated lists, whatever the case.
func hasToken(lines []string, token string) bool {
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(textproto.TrimString(part), token) {
				return true
			}
		}
	}
	return false
}

// removeNamed removes the headers that a Connection header names.
func removeNamed(h http.Header, connection []string) {
	for _, line := range connection {
		for name := range strings.SplitSeq(line, ",") {
			if name = textproto.TrimString(name); name != "" {
				h.Del(name)
			}
		}
	}
}

// copyEndToEnd adds what of an answer's header is not for the target's connection alone.
func copyEndToEnd(dst, src http.Header) {
	for name, values := range src {
		if !isHop(name) {
			dst[name] = append(dst[name], values...)
		}
	}
	removeNamed(dst, src["Connection"])
}

func copyHeader(dst, src http.Header) {
	for name, values := range src {
		if prior := dst[name]; prior != nil {
			values = append(prior[:len(prior):len(prior)], values...)
		}
		dst[name] = values
	}
}
