package healthgate

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"
)

// Probe is one way of asking a target whether it is ready. Implementations are safe for
// concurrent use.
type Probe interface {
	// Probe asks the target at addr (host:port) once and returns nil when it is ready.
	// It returns when ctx ends at the latest. VerdictOf tells what an error means.
	Probe(ctx context.Context, addr string) error
}

// DialFunc opens a connection; nil means a plain net.Dialer. It returns when ctx ends at
// the latest.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// ProbeConfig says how a target is probed and how often. The zero value is a tcp probe
// with the defaults named at each field.
type ProbeConfig struct {
	// Kind is "tcp" (default), "http", "grpc" or "exec".
	Kind string

	// Path, Method, Host, Header, Statuses and Body belong to kind "http".
	Path     string      // request path with optional query; default "/"
	Method   string      // default GET
	Host     string      // Host header; default the target's address
	Header   http.Header // sent as given
	Statuses string      // accepted statuses, "200,204,300-399"; default "200-399"
	Body     string      // regular expression that the first 64 KiB must match; "" = any
	TLS      bool        // http and grpc: speak TLS; the certificate is not verified

	// Service is the service name of kind "grpc" (grpc.health.v1); "" asks for the server.
	Service string
	// Command is the argv of kind "exec"; exit status 0 is ready. The address is given
	// in DOZE_PROBE_ADDR.
	Command []string

	// Interval is the pause between probes of a target that has answered; default 1s, at
	// least 1ms.
	Interval time.Duration
	// Timeout bounds one probe; default 1s. It grows, up to 10 times, while a target is
	// merely slow.
	Timeout time.Duration
	// InitialDelay is waited before the first probe of a target; default 0.
	InitialDelay time.Duration
	// Rise and Fall are how many results in a row promote (default 1) or demote
	// (default 3) a target.
	Rise, Fall int

	// Dial replaces the dialler; nil means net.Dialer.
	Dial DialFunc
}

// New returns the probe that c describes. It returns Validate's error for a bad config.
func (c ProbeConfig) New() (Probe, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	switch c.Kind {
	case "http":
		return c.newHTTP()
	case "grpc":
		return c.newGRPC(), nil
	case "exec":
		return &execProbe{argv: c.Command}, nil
	}
	return &tcpProbe{dial: c.Dial}, nil
}

func (c ProbeConfig) withDefaults() ProbeConfig {
	c.Kind = cmp.Or(c.Kind, "tcp")
	if c.Kind == "http" {
		c.Path, c.Method = cmp.Or(c.Path, "/"), cmp.Or(c.Method, http.MethodGet)
		c.Statuses = cmp.Or(c.Statuses, "200-399")
	}
	c.Interval, c.Timeout = cmp.Or(c.Interval, time.Second), cmp.Or(c.Timeout, time.Second)
	c.Rise, c.Fall = cmp.Or(c.Rise, 1), cmp.Or(c.Fall, 3)
	return c
}
