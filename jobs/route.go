package jobs

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Route says which requests belong to a group.
type Route struct {
	// Hosts are lower-case ASCII names without port and trailing dot; "*." in front stands
	// for one or more labels, "*" alone for any host. At least one.
	Hosts []string
	// PathPrefix starts with a slash and ends in none, but for "/", which is every path.
	PathPrefix string
}

func (r Route) equal(o Route) bool {
	return r.PathPrefix == o.PathPrefix && slices.Equal(r.Hosts, o.Hosts)
}

// routesValue is any number of route blocks.
type routesValue struct{ to *[]Route }

func (routesValue) kind() string { return "block, any number" }

func (r routesValue) read(at place, v any) {
	for _, b := range blocksOf(at, v) {
		route := Route{PathPrefix: "/"}
		routeSchema(&route).read(b)
		if hosts, present := b.keys["hosts"]; !present || isEmpty(hosts) {
			b.at.under("hosts").fault("no host is named", `write hosts = ["web.example.com"]`)
		}
		if route.PathPrefix != "/" {
			route.PathPrefix = strings.TrimRight(route.PathPrefix, "/")
		}
		*r.to = append(*r.to, route)
	}
}

func isEmpty(v any) bool {
	list, ok := listOf(v)
	return v == nil || ok && len(list) == 0
}

// routeSchema is a route block.
func routeSchema(r *Route) schema {
	host := func(at place, s string) {
		if host, ok := readHost(at, s); ok {
			r.Hosts = append(r.Hosts, host)
		}
	}
	return schema{
		{"hosts", textsValue{host}, "required",
			"Host names, without scheme and port. `*.` in front stands for one or more " +
				"labels, `*` alone for any host. Upper and lower case are the same."},
		{"path_prefix", textValue{to: &r.PathPrefix, check: r.readPrefix}, `"/"`,
			"Only paths that are this or lie below it. The longest prefix wins."},
	}
}

// readHost returns the host pattern that s means, in its one written form.
func readHost(at place, s string) (string, bool) {
	host := strings.ToLower(strings.TrimSuffix(s, "."))
	if problem, hint := hostFlaw(host); problem != "" {
		at.fault(fmt.Sprintf("%q %s", s, problem), hint)
		return "", false
	}
	if ascii, err := idna.ToASCII(host); err == nil {
		host = ascii
	}
	return host, true
}

// hostFlaw says what is wrong with a host pattern, and what to write; "" when nothing is.
func hostFlaw(host string) (problem, hint string) {
	if host == "*" || isBracketed(host) {
		return "", ""
	}
	if _, after, ok := strings.Cut(host, "://"); ok {
		return "has a scheme", fmt.Sprintf("write %q", strings.TrimRight(after, "/"))
	}
	if name, _, ok := strings.Cut(host, "/"); ok {
		return "has a path", fmt.Sprintf("write %q and use path_prefix", name)
	}
	if strings.Contains(host, "::") {
		return "is an IPv6 address without brackets", fmt.Sprintf("write %q", "["+host+"]")
	}
	if name, _, ok := strings.Cut(host, ":"); ok {
		return "has a port", fmt.Sprintf("write %q: every port of the gate counts", name)
	}
	name := strings.TrimPrefix(host, "*.")
	if strings.Contains(name, "*") {
		return "has a wildcard that is not the whole first label", `as in "*.example.com"`
	}
	return nameFlaw(name)
}

// isBracketed reports whether host is an IPv6 address in brackets (RFC 3986, 3.2.2).
func isBracketed(host string) bool {
	inner, opened := strings.CutPrefix(host, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	addr, err := netip.ParseAddr(inner)
	return opened && closed && err == nil && addr.Is6() && addr.Zone() == ""
}

// nameFlaw says what is wrong with a host name without wildcard.
func nameFlaw(name string) (problem, hint string) {
	ascii, err := idna.ToASCII(name)
	if err != nil {
		return "is not a host name", fmt.Sprint(err)
	}
	if len(ascii) > 253 {
		return "is longer than 253 letters", ""
	}
	for label := range strings.SplitSeq(ascii, ".") {
		if problem, hint := labelFlaw(label); problem != "" {
			return problem, hint
		}
	}
	return "", ""
}

// labelFlaw says what is wrong with one label of a host name (RFC 1123, section 2.1; an
// underscore is let through, as it is in use).
func labelFlaw(label string) (problem, hint string) {
	switch {
	case label == "":
		return "has an empty label", `write a name such as "web.example.com"`
	case len(label) > 63:
		return "has a label of more than 63 letters", ""
	case label[0] == '-' || label[len(label)-1] == '-':
		return "has a label with a hyphen at its end", ""
	}
	for _, r := range label {
		if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return fmt.Sprintf("has a %q", r), "letters, digits, hyphens and dots only"
		}
	}
	return "", ""
}

// readPrefix sets the path prefix that s means.
func (r *Route) readPrefix(at place, s string) {
	switch {
	case !strings.HasPrefix(s, "/"):
		at.fault(fmt.Sprintf("%q does not start with a slash", s),
			fmt.Sprintf("write %q", "/"+s))
	case strings.ContainsAny(s, "?#"):
		at.fault(fmt.Sprintf("%q has a query or fragment", s), "only the path is compared")
	case strings.Contains(s, "*"):
		at.fault(fmt.Sprintf("%q has a wildcard", s), "it is a prefix already; leave * out")
	case strings.Contains(s, "//") || strings.Contains(s+"/", "/./") ||
		strings.Contains(s+"/", "/../"):
		at.fault(fmt.Sprintf("%q is not a clean path", s), "no empty, . or .. parts")
	}
}
