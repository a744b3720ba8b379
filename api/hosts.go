package api

import (
	"fmt"
	"net"
	"net/http"
	"strings"

	"doze/api/wire"
)

// hosts are the host names under which the control API may be asked. A page that points a
// name of its own at this machine (DNS rebinding) sends that name, and is refused.
type hosts map[string]bool

// newHosts reads the configured names; each may have a port, which does not matter.
func newHosts(names []string) (hosts, error) {
	h := make(hosts, len(names))
	for _, name := range names {
		host := hostOnly(name)
		if host == "" || strings.ContainsAny(host, "*/ ") {
			return nil, fmt.Errorf("cannot allow host %q: write a plain name, "+
				"e.g. doze.example.com", name)
		}
		h[host] = true
	}
	return h, nil
}

// check lets pass loopback names, IP addresses (they cannot be rebound) and configured names.
func (h hosts) check(r *http.Request) *wire.Problem {
	host := hostOnly(r.Host)
	if h[host] || isLoopback(host) || net.ParseIP(host) != nil {
		return nil
	}
	return problem(unknownHost, fmt.Sprintf("the request names the host %q", r.Host),
		"ask by IP address or as localhost, or give the name to doze serve, in -api-hosts or "+
			"DOZE_API_HOSTS")
}

// hostOnly strips port, brackets and trailing dot, and lowers the case.
func hostOnly(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
