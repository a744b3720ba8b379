package healthgate

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// ParseProbeURL reads where and how to probe from a URL, for a command line:
//
//	http://host[:80]/path?query   https://host[:443]/path?query
//	tcp://host:port
//	grpc://host:port[/service]    grpcs://host:port[/service]   (grpcs: TLS)
//
// addr is host:port. Everything else in cfg is left at its default.
func ParseProbeURL(raw string) (addr string, cfg ProbeConfig, err error) {
	addr, cfg, err = parseProbeURL(raw)
	if err != nil {
		return "", ProbeConfig{}, fmt.Errorf("cannot use probe URL %q: %w", raw, err)
	}
	return addr, cfg, nil
}

func parseProbeURL(raw string) (addr string, cfg ProbeConfig, err error) {
	if !strings.Contains(raw, "://") {
		return "", cfg, errors.New("it has no scheme; write e.g. tcp://host:port or http://host/path")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", cfg, errors.Unwrap(err) // the URL is in the error already
	}
	if u.User != nil || strings.Contains(raw, "#") {
		return "", cfg, errors.New("neither a user nor a fragment can be part of it")
	}
	port, err := probeByScheme(u, &cfg)
	if err == nil {
		addr, err = probeAddr(u, port)
	}
	if err == nil {
		err = cfg.Validate()
	}
	return addr, cfg, err
}

// probeByScheme fills in cfg and returns the scheme's default port, "" for none.
func probeByScheme(u *url.URL, cfg *ProbeConfig) (port string, err error) {
	switch u.Scheme {
	case "http", "https":
		cfg.Kind, cfg.TLS, cfg.Path = "http", u.Scheme == "https", u.RequestURI()
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		if u.Port() == "" {
			cfg.Host = strings.TrimSuffix(u.Host, ":")
		}
		return port, nil
	case "tcp":
		cfg.Kind = "tcp"
		if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
			return "", errors.New("a tcp probe has no path; for one, write http://")
		}
		return "", nil
	case "grpc", "grpcs":
		cfg.Kind, cfg.TLS = "grpc", u.Scheme == "grpcs"
		cfg.Service = strings.TrimPrefix(u.Path, "/")
		if u.RawQuery != "" {
			return "", errors.New("a grpc probe has no query")
		}
		return "", nil
	}
	return "", fmt.Errorf("scheme %q is none of http, https, tcp, grpc, grpcs", u.Scheme)
}

func probeAddr(u *url.URL, port string) (string, error) {
	if u.Port() != "" {
		port = u.Port()
	}
	switch {
	case u.Hostname() == "":
		return "", errors.New("it has no host; write e.g. 127.0.0.1")
	case !isHost(u.Hostname()):
		return "", fmt.Errorf("%q is neither a host name in ASCII nor an address", u.Hostname())
	case !isPort(port):
		return "", fmt.Errorf("port %q is not between 1 and 65535", port)
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}
