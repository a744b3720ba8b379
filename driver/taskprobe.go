package driver

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"doze/healthgate"
)

// rawProbe is a probe block; which keys count depends on its label.
type rawProbe struct {
	Path         string            `hcl:"path"`
	Method       string            `hcl:"method"`
	Host         string            `hcl:"host"`
	Headers      map[string]string `hcl:"headers"`
	Statuses     string            `hcl:"statuses"`
	Body         string            `hcl:"body"`
	TLS          bool              `hcl:"tls"`
	Service      string            `hcl:"service"`
	Command      []string          `hcl:"command"`
	Interval     *string           `hcl:"interval"`
	Timeout      *string           `hcl:"timeout"`
	InitialDelay *string           `hcl:"initial_delay"`
	Rise         int               `hcl:"rise"`
	Fall         int               `hcl:"fall"`
}

// probeKinds are the labels of a probe block.
func probeKinds() []string { return []string{"http", "tcp", "grpc", "exec"} }

// readProbe reads the one probe block there may be; without one it is a tcp probe.
func readProbe(blocks map[string]rawProbe, ps *Problems) healthgate.ProbeConfig {
	kinds := slices.Sorted(maps.Keys(blocks))
	if len(kinds) > 1 {
		ps.add("probe", "keep one", "there are %d: %s", len(kinds), strings.Join(kinds, ", "))
	}
	var probe healthgate.ProbeConfig
	for _, kind := range kinds {
		if !slices.Contains(probeKinds(), kind) {
			ps.add("probe", "there are "+strings.Join(probeKinds(), ", "), "there is no probe %q", kind)
			continue
		}
		probe = blocks[kind].read(kind, ps)
	}
	return probe
}

func (r rawProbe) read(kind string, ps *Problems) healthgate.ProbeConfig {
	at := `probe "` + kind + `" > `
	c := healthgate.ProbeConfig{
		Kind: kind, Path: r.Path, Method: r.Method, Host: r.Host, Statuses: r.Statuses,
		Body: r.Body, TLS: r.TLS, Service: r.Service,
		Command: r.Command, Rise: r.Rise, Fall: r.Fall,
		Interval:     duration(at+"interval", r.Interval, ps),
		Timeout:      duration(at+"timeout", r.Timeout, ps),
		InitialDelay: delay(at+"initial_delay", r.InitialDelay, ps),
	}
	if len(r.Headers) > 0 {
		c.Header = http.Header{}
		for name, value := range r.Headers {
			c.Header.Set(name, value)
		}
	}
	for _, err := range unjoin(c.Validate()) {
		if field, ok := errors.AsType[*healthgate.FieldError](err); ok {
			ps.add(at+keyOf(field.Key), "", "%s", field.Problem)
			continue
		}
		ps.add(strings.TrimSuffix(at, " > "), "", "%v", err)
	}
	return c
}

// delay is a duration that may be zero.
func delay(key string, text *string, ps *Problems) time.Duration {
	if text == nil || *text == "" || *text == "0" || *text == "0s" {
		return 0
	}
	return duration(key, text, ps)
}

// keyOf is the job's word for a field of a probe.
func keyOf(field string) string {
	if field == "header" {
		return "headers"
	}
	return field
}

func unjoin(err error) []error {
	switch err := err.(type) {
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		return err.Unwrap()
	default:
		return []error{err}
	}
}
