package api

import (
	"strings"

	"golang.org/x/net/idna"
)

// Route says which requests belong to a group. A request matches when one of the hosts and
// the path prefix do.
type Route struct {
	// Hosts are names without port. "*." in front stands for one or more labels, and "*"
	// alone for any host. Case and a trailing dot do not matter; names in other scripts
	// are compared in their ASCII form. A host that is no valid name matches nothing.
	Hosts []string
	// PathPrefix is compared by whole segments with the decoded path ("/api" matches
	// "/api" and "/api/x", not "/apix"); "" and "/" match every path.
	PathPrefix string
}

// maxHost is the longest host name that DNS knows (RFC 1035, 2.3.4).
const maxHost = 253

// routeKey is one thing that can be claimed: a host, as foldHost and hostKey write it, and
// a path prefix without trailing slashes.
type routeKey struct {
	host, prefix string
}

// keys returns what the route claims, leaving out hosts that are no names.
func (r Route) keys() []routeKey {
	prefix := strings.TrimRight(r.PathPrefix, "/")
	keys := make([]routeKey, 0, len(r.Hosts))
	for _, host := range r.Hosts {
		if host, ok := hostKey(host); ok {
			keys = append(keys, routeKey{host, prefix})
		}
	}
	return keys
}

// hostKey writes a route's host the way it is looked up: "*.example.com" as ".example.com"
// and "*" as ".".
func hostKey(host string) (string, bool) {
	if host == "*" {
		return ".", true
	}
	rest, wild := strings.CutPrefix(host, "*.")
	ascii, err := idna.ToASCII(rest)
	if err != nil {
		return "", false
	}
	var buf [maxHost]byte
	name, ok := foldHost(ascii, &buf)
	if !ok {
		return "", false
	}
	if wild {
		return "." + string(name), true
	}
	return string(name), true
}

// foldHost writes host without port and trailing dot and in lower case into buf. It
// reports false for what is neither a name in ASCII nor an address. It does not allocate.
func foldHost(host string, buf *[maxHost]byte) ([]byte, bool) {
	host, ok := cutPort(host)
	if n := len(host); n > 0 && host[n-1] == '.' {
		host = host[:n-1]
	}
	if !ok || host == "" || len(host) > maxHost || host[0] == '.' {
		return nil, false
	}
	last := len(host) - 1
	literal := host[0] == '[' && host[last] == ']' // an IPv6 address (RFC 3986, 3.2.2)
	for i := range len(host) {
		c := host[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if !hostByte(c) && !(literal && (c == ':' || i == 0 || i == last)) {
			return nil, false
		}
		if c == '.' && host[i-1] == '.' {
			return nil, false
		}
		buf[i] = c
	}
	return buf[:len(host)], true
}

// hostByte reports whether c may be in a host name. Underscores are no letters of DNS host
// names, but in use.
func hostByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		return true
	}
	return c == '.' || c == '-' || c == '_'
}

// cutPort removes ":port" and reports false where that is no number (RFC 3986, 3.2.3). An
// IPv6 address keeps its brackets.
func cutPort(host string) (name string, ok bool) {
	colon := strings.LastIndexByte(host, ':')
	if colon < 0 || strings.IndexByte(host[colon:], ']') >= 0 {
		return host, true
	}
	for _, c := range []byte(host[colon+1:]) {
		if c < '0' || '9' < c {
			return "", false
		}
	}
	return host[:colon], true
}

// pathUnder reports whether path lies under prefix, by whole segments.
func pathUnder(prefix, path string) bool {
	return prefix == "" || strings.HasPrefix(path, prefix) &&
		(len(path) == len(prefix) || path[len(prefix)] == '/')
}
