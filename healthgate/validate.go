package healthgate

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// FieldError is one thing that is wrong with a ProbeConfig.
type FieldError struct {
	Key     string // the field in lower case with underscores, e.g. "initial_delay"
	Problem string // what is wrong, with a hint
}

func (e *FieldError) Error() string { return e.Key + ": " + e.Problem }

// faults collects problems; see ProbeConfig.Validate.
type faults []error

func (f *faults) add(key, format string, args ...any) {
	*f = append(*f, &FieldError{key, fmt.Sprintf(format, args...)})
}

// Validate reports everything that is wrong, joined; each error is a *FieldError and names
// the key.
func (c ProbeConfig) Validate() error {
	var f faults
	c.checkKind(&f)
	c.checkForeign(&f)
	switch c.Kind {
	case "http":
		c.checkHTTP(&f)
	case "exec":
		c.checkCommand(&f)
	}
	c.checkPace(&f)
	return errors.Join(f...)
}

func (c ProbeConfig) checkKind(f *faults) {
	switch c.Kind {
	case "", "tcp", "http", "grpc", "exec":
	default:
		f.add("kind", `%q is none of "tcp", "http", "grpc", "exec"`, c.Kind)
	}
}

// checkForeign finds keys of one kind that are set for another: they would be ignored.
func (c ProbeConfig) checkForeign(f *faults) {
	for _, k := range []struct {
		key   string
		set   bool
		kinds string
	}{
		{"path", c.Path != "", "http"},
		{"method", c.Method != "", "http"},
		{"host", c.Host != "", "http"},
		{"header", len(c.Header) > 0, "http"},
		{"statuses", c.Statuses != "", "http"},
		{"body", c.Body != "", "http"},
		{"tls", c.TLS, "http grpc"},
		{"service", c.Service != "", "grpc"},
		{"command", len(c.Command) > 0, "exec"},
	} {
		if k.set && !strings.Contains(k.kinds, c.withDefaults().Kind) {
			f.add(k.key, "belongs to a probe of kind %s", strings.ReplaceAll(k.kinds, " ", " or "))
		}
	}
}

func (c ProbeConfig) checkHTTP(f *faults) {
	c = c.withDefaults()
	if !strings.HasPrefix(c.Path, "/") {
		f.add("path", `%q must begin with "/"`, c.Path)
	} else if _, err := url.ParseRequestURI(c.Path); err != nil || strings.Contains(c.Path, "#") {
		f.add("path", "%q is not a request path", c.Path)
	}
	if !isToken(c.Method) || c.Method == http.MethodConnect { // CONNECT has no path
		f.add("method", "%q is not an HTTP method to probe with", c.Method)
	}
	if c.Host != "" && !isHostPort(c.Host) {
		f.add("host", "%q is not a host with or without port", c.Host)
	}
	checkHeader(f, c.Header)
	if _, err := ParseStatuses(c.Statuses); err != nil {
		f.add("statuses", "%v", err)
	}
	if _, err := regexp.Compile(c.Body); err != nil {
		f.add("body", "%v", err)
	}
}

func checkHeader(f *faults, header http.Header) {
	for name, values := range header {
		switch http.CanonicalHeaderKey(name) {
		case "Host":
			f.add("header", "the Host header is set by the key host")
		case "Content-Length", "Transfer-Encoding", "Connection", "Trailer":
			f.add("header", "%s cannot be set: a probe has no body and keeps no connection", name)
		}
		if !isToken(name) {
			f.add("header", "%q is not a header name", name)
		}
		for _, v := range values {
			if !isFieldValue(v) {
				f.add("header", "%s: %q is not a header value", name, v)
			}
		}
	}
}

func (c ProbeConfig) checkCommand(f *faults) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		f.add("command", `is required for kind "exec", e.g. ["/bin/check", "-q"]`)
	}
}

func (c ProbeConfig) checkPace(f *faults) {
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"interval", c.Interval}, {"timeout", c.Timeout}, {"initial_delay", c.InitialDelay},
	} {
		if d.value < 0 {
			f.add(d.key, "%s is negative", d.value)
		}
	}
	if c.Interval > 0 && c.Interval < time.Millisecond {
		f.add("interval", "%s is too short; the least is 1ms", c.Interval)
	}
	if c.Rise < 0 {
		f.add("rise", "%d is negative", c.Rise)
	}
	if c.Fall < 0 {
		f.add("fall", "%d is negative", c.Fall)
	}
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// isHostPort reports whether s can be a Host header: a name in ASCII or an IP address, IPv6
// in brackets, and maybe a port.
func isHostPort(s string) bool {
	if host, port, err := net.SplitHostPort(s); err == nil {
		return isHost(host) && isPort(port)
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && addr.Is6() && addr.Zone() == "" && strings.HasSuffix(inner, "]")
	}
	return isHost(s) && !strings.Contains(s, ":")
}

// isHost reports whether s is a name in ASCII or an IP address.
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return isToken(s) && !strings.ContainsAny(s, "!#$%&'*+^`|~")
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '0'
}

// isFieldValue reports whether s can stand in a header (RFC 9110, section 5.5).
func isFieldValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
