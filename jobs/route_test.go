package jobs_test

import (
	"fmt"
	"strings"
	"testing"

	"doze/idle"
	"doze/jobs"
)

func TestParsePolicy_badRoute_isTold(t *testing.T) {
	host := func(s string) string { return fmt.Sprintf(`[{"route": [{"hosts": [%q]}]}]`, s) }
	prefix := func(s string) string {
		return fmt.Sprintf(`[{"route": [{"hosts": ["a.b"], "path_prefix": %q}]}]`, s)
	}
	testFaults(t, doze+" > route > ", []fault{
		{"no hosts", `[{"route": [{}]}]`,
			`hosts: no host is named; write hosts = ["web.example.com"]`},
		{"empty hosts", `[{"route": [{"hosts": []}]}]`,
			`hosts: no host is named; write hosts = ["web.example.com"]`},
		{"one host as text", `[{"route": [{"hosts": "a.b"}]}]`,
			`hosts: must be a list of text, not text; write ["a.b"]`},
		{"number as host", `[{"route": [{"hosts": [1]}]}]`,
			`hosts[0]: must be text, not a number`},
		{"null as host", `[{"route": [{"hosts": [null]}]}]`,
			`hosts[0]: must be text, not null`},
		{"scheme", host("https://a.b/"), `hosts[0]: "https://a.b/" has a scheme; write "a.b"`},
		{"path", host("a.b/c"),
			`hosts[0]: "a.b/c" has a path; write "a.b" and use path_prefix`},
		{"port", host("a.b:80"),
			`hosts[0]: "a.b:80" has a port; write "a.b": every port of the gate counts`},
		{"bare IPv6", host("2001:db8::1"), `hosts[0]: "2001:db8::1" is an IPv6 address ` +
			`without brackets; write "[2001:db8::1]"`},
		{"inner wildcard", host("a.*.b"), `hosts[0]: "a.*.b" has a wildcard that is not ` +
			`the whole first label; as in "*.example.com"`},
		{"partial wildcard", host("a*.b"), `hosts[0]: "a*.b" has a wildcard that is not ` +
			`the whole first label; as in "*.example.com"`},
		{"empty", host(""), `hosts[0]: "" has an empty label; ` +
			`write a name such as "web.example.com"`},
		{"empty label", host("a..b"), `hosts[0]: "a..b" has an empty label; ` +
			`write a name such as "web.example.com"`},
		{"hyphen", host("-a.b"), `hosts[0]: "-a.b" has a label with a hyphen at its end`},
		{"space", host("a b"),
			`hosts[0]: "a b" has a ' '; letters, digits, hyphens and dots only`},
		{"long label", host(strings.Repeat("a", 64) + ".b"), `hosts[0]: "` +
			strings.Repeat("a", 64) + `.b" has a label of more than 63 letters`},
		{"twice", `[{"route": [{"hosts": ["a.b", "A.B."]}]}]`,
			`hosts: "a.b" is claimed twice for path_prefix "/"; keep one`},
		{"relative prefix", prefix("api"),
			`path_prefix: "api" does not start with a slash; write "/api"`},
		{"prefix with query", prefix("/a?b"),
			`path_prefix: "/a?b" has a query or fragment; only the path is compared`},
		{"prefix with wildcard", prefix("/a/*"),
			`path_prefix: "/a/*" has a wildcard; it is a prefix already; leave * out`},
		{"unclean prefix", prefix("/a/../b"),
			`path_prefix: "/a/../b" is not a clean path; no empty, . or .. parts`},
	})
}

func TestParsePolicy_host_isFolded(t *testing.T) {
	for in, want := range map[string]string{
		"Web.Example.COM.": "web.example.com", "*.A.b": "*.a.b", "*": "*",
		"10.0.0.1": "10.0.0.1", "[::1]": "[::1]", "a_b.c": "a_b.c", "localhost": "localhost",
		"*.bücher.example": "*.xn--bcher-kva.example",
	} {
		got, wrong := parse(t, fmt.Sprintf(`[{"route": [{"hosts": [%q]}]}]`, in), shape())
		if len(wrong) > 0 || got.Routes[0].Hosts[0] != want {
			t.Errorf("%q: got %+v, %v", in, got.Routes, wrong)
		}
	}
}

func TestParsePolicy_oneHostUnderTwoPrefixes_isFine(t *testing.T) {
	_, wrong := parse(t, `[{"route": [{"hosts": ["a.b"]},
		{"hosts": ["a.b"], "path_prefix": "/api"}]}]`, shape())
	if len(wrong) > 0 {
		t.Error(wrong)
	}
}

func TestCheckRoutes_routeOfTwoGroups_isToldOfTheLater(t *testing.T) {
	claim := func(group, host, prefix string) jobs.Managed {
		return jobs.Managed{
			ID: idle.GroupID{Namespace: "default", Job: "j", Group: group}, Pos: group + ".hcl:3",
			Policy: jobs.Policy{
				Routes: []jobs.Route{{Hosts: []string{host}, PathPrefix: prefix}},
			},
		}
	}
	wrong := jobs.CheckRoutes([]jobs.Managed{
		claim("a", "x.y", "/"), claim("b", "x.y", "/api"), claim("c", "x.y", "/"),
	})
	want := `c.hcl:3: group "c" > scaling > policy > doze > route > hosts: "x.y" with ` +
		`path_prefix "/" is claimed by default/j/a, too; ` +
		`of the two, the older job keeps it; choose another host`
	if got := wrong.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
