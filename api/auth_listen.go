package api

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// ValidateListen refuses to serve the control API without authentication (no Authorizer, or
// Open) anywhere but on a loopback address or a Unix socket ("unix:" and a path, or a path
// that begins with a slash). addr is host:port; no host means every address of the machine.
// A name other than localhost is not looked up and counts as not loopback.
func ValidateListen(addr string, auth Authorizer) error {
	if strings.HasPrefix(addr, "unix:") || strings.HasPrefix(addr, "/") {
		return nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %q: %w; write host:port, e.g. 127.0.0.1:4660",
			addr, err)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("cannot listen on %q: %w", addr, err)
	}
	if isAuthenticated(auth) || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("cannot listen on %q: %w", addr, errOpenToAll)
}

// errOpenToAll names what to do: the settings themselves are named by who has them.
var errOpenToAll = errors.New("whoever reaches this address could wake every group and put it " +
	"to sleep; give a bearer token file, let Nomad's ACLs decide, or listen on a loopback " +
	"address such as 127.0.0.1:4660")

func isAuthenticated(auth Authorizer) bool {
	switch auth.(type) {
	case nil, Open, *Open:
		return false
	}
	return true
}

// isLoopback says whether a host, without its port, can only mean this machine. Names under
// localhost always do (RFC 6761, section 6.3).
func isLoopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
