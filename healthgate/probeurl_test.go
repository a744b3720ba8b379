package healthgate_test

import (
	"net"
	"reflect"
	"strings"
	"testing"

	"doze/healthgate"
)

func TestParseProbeURL_forms(t *testing.T) {
	type cfg = healthgate.ProbeConfig
	for raw, want := range map[string]struct {
		addr string
		cfg  healthgate.ProbeConfig
	}{
		"http://127.0.0.1:8080":            {"127.0.0.1:8080", cfg{Kind: "http", Path: "/"}},
		"http://127.0.0.1:8080/a%20b?c=d":  {"127.0.0.1:8080", cfg{Kind: "http", Path: "/a%20b?c=d"}},
		"http://web.example.com/x":         {"web.example.com:80", cfg{Kind: "http", Path: "/x", Host: "web.example.com"}},
		"https://web.example.com":          {"web.example.com:443", cfg{Kind: "http", Path: "/", Host: "web.example.com", TLS: true}},
		"https://[::1]:8443/x":             {"[::1]:8443", cfg{Kind: "http", Path: "/x", TLS: true}},
		"HTTP://localhost:1/":              {"localhost:1", cfg{Kind: "http", Path: "/"}},
		"tcp://localhost:5432":             {"localhost:5432", cfg{Kind: "tcp"}},
		"grpc://localhost:9090":            {"localhost:9090", cfg{Kind: "grpc"}},
		"grpc://localhost:9090/my.Service": {"localhost:9090", cfg{Kind: "grpc", Service: "my.Service"}},
		"grpcs://localhost:9090/":          {"localhost:9090", cfg{Kind: "grpc", TLS: true}},
	} {
		addr, got, err := healthgate.ParseProbeURL(raw)
		if err != nil || addr != want.addr || !reflect.DeepEqual(got, want.cfg) {
			t.Errorf("%s:\n got %s %+v %v\nwant %s %+v", raw, addr, got, err, want.addr, want.cfg)
		}
	}
}

func TestParseProbeURL_mistakes_areExplained(t *testing.T) {
	for raw, hint := range map[string]string{
		"":                         "no scheme",
		"localhost:8080":           "tcp://host:port",
		"tcp://localhost":          `port "" is not between 1 and 65535`,
		"tcp://localhost:0":        `port "0"`,
		"tcp://localhost:65536":    `port "65536"`,
		"tcp://localhost:1/x":      "no path",
		"grpc://localhost:1/x?y":   "no query",
		"grpc://localhost":         "port",
		"http://":                  "no host",
		"http://:8080/":            "no host",
		"http://me:secret@host:1/": "neither a user",
		"http://host:1/#top":       "fragment",
		"ftp://host:21/":           `scheme "ftp" is none of`,
		"http://host:http/":        "invalid port",
		"http://ho st:1/":          "invalid",
		"http://host:1/\x00":       "invalid",
		"unix:///run/x.sock":       `scheme "unix"`,
		"http://host:1/%zz":        "invalid",
	} {
		addr, cfg, err := healthgate.ParseProbeURL(raw)
		if err == nil {
			t.Errorf("%q was read as %s %+v", raw, addr, cfg)
		} else if !strings.Contains(err.Error(), hint) || !strings.HasPrefix(err.Error(), "cannot use probe URL") {
			t.Errorf("%q: %v does not say %q", raw, err, hint)
		}
	}
}

func FuzzParseProbeURL(f *testing.F) {
	for _, raw := range []string{
		"http://127.0.0.1:8080/healthz?x=1", "https://web.example.com", "tcp://[::1]:5432",
		"grpc://localhost:9090/my.Service", "grpcs://h:1", "localhost:80", "http://h:1/%00", "http://[fe80::1%25eth0]:1/",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		addr, cfg, err := healthgate.ParseProbeURL(raw)
		if err != nil {
			return
		}
		if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
			t.Errorf("%q: address %q, %v", raw, addr, err)
		}
		if _, err := cfg.New(); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	})
}
