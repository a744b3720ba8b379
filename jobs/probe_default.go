package jobs

import (
	"net/http"
	"slices"
	"strings"

	nomad "github.com/hashicorp/nomad/api"

	"doze/healthgate"
)

// defaultProbe is the probe of a group that names none: its own service check for the
// port, Nomad's or Consul's, the one that proves most (http, then grpc, then tcp); without
// one, tcp.
func defaultProbe(services []*nomad.Service, port string) *healthgate.ProbeConfig {
	for _, kind := range []string{"http", "grpc", "tcp"} {
		for _, service := range services {
			if service == nil {
				continue
			}
			for _, check := range service.Checks {
				if check.Type != kind || !fits(service, check, port) {
					continue
				}
				if probe := probeOf(check); probe.Validate() == nil {
					return probe
				}
			}
		}
	}
	return &healthgate.ProbeConfig{Kind: "tcp"}
}

// fits reports whether a check asks the given port something that a probe can ask, too. A
// check with a request body, or with ${…} that only the client fills in, cannot be.
func fits(service *nomad.Service, check nomad.ServiceCheck, port string) bool {
	label := check.PortLabel
	if label == "" {
		label = service.PortLabel
	}
	if label != port || check.Body != "" {
		return false
	}
	words := []string{check.Path, check.Method, check.GRPCService, check.Protocol}
	for name, values := range check.Header {
		words = append(append(words, name), values...)
	}
	return !slices.ContainsFunc(words, func(s string) bool { return strings.Contains(s, "${") })
}

// probeOf asks what the check asks. Both Nomad and Consul follow redirects and the probe
// does not, so its default of 200 to 399 stands: who redirects is up.
func probeOf(check nomad.ServiceCheck) *healthgate.ProbeConfig {
	p := &healthgate.ProbeConfig{
		Kind:     check.Type,
		Interval: max(0, check.Interval),
		Timeout:  max(0, check.Timeout),
	}
	switch check.Type {
	case "http":
		p.TLS = check.Protocol == "https"
		p.Method = check.Method
		p.Path = check.Path
		if !strings.HasPrefix(p.Path, "/") {
			p.Path = "/" + p.Path
		}
		p.Header = headerOf(check.Header)
		p.Host = p.Header.Get("Host")
		p.Header.Del("Host")
	case "grpc":
		p.TLS = check.GRPCUseTLS
		p.Service = check.GRPCService
	}
	return p
}

func headerOf(from map[string][]string) http.Header {
	if len(from) == 0 {
		return nil
	}
	header := http.Header{}
	for name, values := range from {
		for _, v := range values {
			header.Add(name, v)
		}
	}
	return header
}
