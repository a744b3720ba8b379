package healthgate_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"doze/healthgate"
)

func TestProbeConfig_zeroValue_isValid(t *testing.T) {
	for _, kind := range []string{"", "tcp", "http", "grpc"} {
		if err := (healthgate.ProbeConfig{Kind: kind}).Validate(); err != nil {
			t.Errorf("kind %q: %v", kind, err)
		}
	}
}

func TestProbeConfig_host_mayBeNameOrAddressWithPort(t *testing.T) {
	for _, host := range []string{
		"a", "web-1.example.com", "web.example.com:8080", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:443",
	} {
		if err := (healthgate.ProbeConfig{Kind: "http", Host: host}).Validate(); err != nil {
			t.Errorf("%q: %v", host, err)
		}
	}
}

func TestProbeConfig_oneMistake_namesItsKey(t *testing.T) {
	for want, c := range map[string]healthgate.ProbeConfig{
		`kind: "icmp" is none of`:              {Kind: "icmp"},
		`path: "healthz" must begin with "/"`:  {Kind: "http", Path: "healthz"},
		`path: "/a b" is not a request path`:   {Kind: "http", Path: "/a\x7fb"},
		`path: "/#x" is not a request path`:    {Kind: "http", Path: "/#x"},
		`path: belongs to a probe of kind htt`: {Path: "/"},
		`method: "G T" is not an HTTP method`:  {Kind: "http", Method: "G T"},
		`method: "CONNECT" is not an HTTP met`: {Kind: "http", Method: "CONNECT"},
		`host: "a/b" is not a host`:            {Kind: "http", Host: "a/b"},
		`host: "[::1" is not a host`:           {Kind: "http", Host: "[::1"},
		`host: "h:0" is not a host`:            {Kind: "http", Host: "h:0"},
		`header: "A:" is not a header name`:    {Kind: "http", Header: http.Header{"A:": {"x"}}},
		`header: A: "x\r\nB: y" is not a head`: {Kind: "http", Header: http.Header{"A": {"x\r\nB: y"}}},
		`header: the Host header is set by th`: {Kind: "http", Header: http.Header{"Host": {"x"}}},
		`header: Content-Length cannot be set`: {Kind: "http", Header: http.Header{"Content-Length": {"1"}}},
		`statuses: "2xx" is not a status betw`: {Kind: "http", Statuses: "2xx"},
		`body: error parsing regexp`:           {Kind: "http", Body: "("},
		`tls: belongs to a probe of kind http`: {TLS: true},
		`service: belongs to a probe of kind `: {Kind: "http", Service: "x"},
		`command: is required for kind "exec"`: {Kind: "exec"},
		`command: belongs to a probe of kind `: {Command: []string{"x"}},
		`interval: -1s is negative`:            {Interval: -time.Second},
		`interval: 1µs is too short`:           {Interval: time.Microsecond},
		`timeout: -1s is negative`:             {Timeout: -time.Second},
		`initial_delay: -1s is negative`:       {InitialDelay: -time.Second},
		`rise: -1 is negative`:                 {Rise: -1},
		`fall: -1 is negative`:                 {Fall: -1},
	} {
		t.Run(want, func(t *testing.T) {
			err := c.Validate()
			want = strings.ReplaceAll(want, "/a b", `/a\x7fb`)
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one error: %s…", err, want)
			}
			if _, newErr := c.New(); newErr == nil {
				t.Error("New took it")
			}
		})
	}
}

func TestProbeConfig_manyMistakes_areAllReported(t *testing.T) {
	err := healthgate.ProbeConfig{
		Kind: "http", Path: "x", Statuses: "0", Body: "(", Timeout: -1, Service: "s",
	}.Validate()
	for _, key := range []string{"path: ", "statuses: ", "body: ", "timeout: ", "service: "} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%q is missing in %v", key, err)
		}
	}
}

func FuzzProbeConfig_header(f *testing.F) {
	f.Add("X-Probe", "yes", "GET", "web.example.com", "/healthz")
	f.Add("A:", "x\r\nB: y", "G T", "a b", "x")
	f.Fuzz(func(t *testing.T, name, value, method, host, path string) {
		cfg := healthgate.ProbeConfig{
			Kind: "http", Method: method, Host: host, Path: path, Header: http.Header{name: {value}},
		}
		if cfg.Validate() != nil {
			return
		}
		// What was accepted reaches the target as it is: one request, nothing smuggled.
		got := sent(t, cfg)
		if m := method; m != "" && got.Method != m {
			t.Errorf("method %q arrived as %q", m, got.Method)
		}
		if v := got.Header[http.CanonicalHeaderKey(name)]; len(v) != 1 || v[0] != strings.Trim(value, " \t") {
			t.Errorf("header %q: %q arrived as %q", name, value, v)
		}
		if host != "" && got.Host != host {
			t.Errorf("host %q arrived as %q", host, got.Host)
		}
	})
}
